"""`pinned_repos`: catalogue, pins, hardened git, licences, file selection."""
