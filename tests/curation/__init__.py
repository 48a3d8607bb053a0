"""Tests of stage `curated_files`."""
