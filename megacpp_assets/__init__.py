"""Pinned C++ repositories to audited training corpora and checkpoints, as one Dagster asset graph."""
