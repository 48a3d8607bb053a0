"""`tokenized_parquet`: encodes documents and writes them as token parquet."""
