"""The text of a document of commits: its head, its pieces, whole files (v2) and inline differences (v3)."""
