"""Triton kernels: hashing, encoding, merging, the trie."""
