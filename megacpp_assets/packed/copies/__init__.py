"""Finds text that a mixture has twice, and documents near held-out definitions."""
