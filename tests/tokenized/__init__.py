"""Tests of `tokenized_parquet`."""
