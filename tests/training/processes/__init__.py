"""Tests of `megacpp_assets.training.processes`."""
