"""Tests of `megacpp_assets.loader`."""
