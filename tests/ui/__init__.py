"""Tests of `megacpp_assets.ui`."""
