"""Atomic publishing, verified reading, and the layout of the data root."""
