"""Tests of the command line, through the command line."""
