"""`v6_enriched`: converts character-level metadata to token-level columns."""
