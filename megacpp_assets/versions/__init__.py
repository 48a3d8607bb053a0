"""Stage `commit_documents`: from the listed commits of a repository to documents of dataset versions v2 and v3."""
