"""Attention that cannot see another document: one file per way of computing it, one function to choose (seed 002)."""
