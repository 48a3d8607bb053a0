"""Stage 3b: semantic JSONL to token parquet."""
