"""Tests of `megacpp_assets.quality`."""
