"""The audit traces a checkpoint back to its source commits and re-hashes every file on the way."""
