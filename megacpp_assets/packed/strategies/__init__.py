"""Packing strategies, a file each: lengths and chunk counts of documents in, a plan of rows out."""
