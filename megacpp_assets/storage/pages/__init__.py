"""Pages of parquet columns, for what Arrow reads too slowly."""
