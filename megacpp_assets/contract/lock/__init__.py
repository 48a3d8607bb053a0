"""The content of `corpus.lock`."""
