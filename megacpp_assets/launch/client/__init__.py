"""The machine that launches: it starts attempts, keeps their records and releases them."""
