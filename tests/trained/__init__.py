"""Tests of `megacpp_assets.trained`."""
