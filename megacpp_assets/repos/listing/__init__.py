"""The list of a repository's files: which are selected, and why others are not."""
