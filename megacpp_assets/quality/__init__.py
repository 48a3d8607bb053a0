"""Invariants of every stage, asserted with DuckDB over the published files."""
