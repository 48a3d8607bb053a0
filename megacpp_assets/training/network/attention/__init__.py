"""Attention that cannot see another document: one file for each way to compute it, one function to choose."""
