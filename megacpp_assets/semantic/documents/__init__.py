"""Chunks of all files joined to a graph, and documents composed from it."""
