"""The fixed vocabulary as reviewed data: a TOML file a band, each group with its reason; `fixed` makes ids of them."""
