"""Tests of what the checks read."""
