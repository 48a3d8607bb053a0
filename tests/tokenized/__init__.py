"""Tests of stage 3b."""
