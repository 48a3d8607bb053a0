"""Tests of stage `commits`."""
