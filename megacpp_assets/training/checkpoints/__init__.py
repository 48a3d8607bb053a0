"""Checkpoints: what they say of themselves, saving, going on from one, and handing one to others."""
