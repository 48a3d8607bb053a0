"""The fixed vocabulary as reviewed data: a TOML file for each band, in which each group gives its reason."""
