"""Spools: the documents of a phase on disk as flat columns, decoded once and read at random."""
