"""Checkpoints: their records, saving, resuming, and export."""
