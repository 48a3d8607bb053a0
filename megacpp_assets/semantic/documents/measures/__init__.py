"""Figures of composed documents: coverage, replication, recall, and how many stand alone and compile."""
