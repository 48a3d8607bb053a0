"""The fixed vocabulary as reviewed data: one TOML file per band, each group with the reason it is there."""
