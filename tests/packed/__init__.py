"""Tests of `megacpp_assets.packed`."""
