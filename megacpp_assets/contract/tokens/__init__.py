"""Tokens: the pinned ids, and what every encoder returns."""
