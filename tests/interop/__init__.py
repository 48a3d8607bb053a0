"""Tests of what other people's training scripts use."""
