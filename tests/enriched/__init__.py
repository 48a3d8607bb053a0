"""Tests of `v6_enriched`."""
