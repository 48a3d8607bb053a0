"""Tests of the storage seam."""
