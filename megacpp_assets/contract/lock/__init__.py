"""What `corpus.lock` says."""
