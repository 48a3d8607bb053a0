"""Stage 4: character-level metadata to token-level columns."""
