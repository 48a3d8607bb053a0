"""Tests of stage `resolved_windows`."""
