"""The audit: from a checkpoint back to the commits, re-hashing every file."""
