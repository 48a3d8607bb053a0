"""Tests of stage `commit_windows`."""
