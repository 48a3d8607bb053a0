"""Stage `commit_documents`: the listed commits of a repository to the documents of dataset versions v2 and v3."""
