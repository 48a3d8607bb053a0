"""What a server is asked about a repository, and asking again."""
