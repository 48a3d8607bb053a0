"""Packing strategies, one file each: lengths and chunk counts of documents come in, a plan of rows comes out."""
