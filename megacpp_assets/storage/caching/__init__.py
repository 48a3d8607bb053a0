"""Caches. They save time and change no byte of an artifact."""
