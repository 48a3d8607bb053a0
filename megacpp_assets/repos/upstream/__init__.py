"""Questions to a server about a repository, with retries."""
