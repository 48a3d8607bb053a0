"""Tests of deploy/: what a team runs."""
