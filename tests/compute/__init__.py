"""Tests of the executor seam."""
