"""Tests of `megacpp_assets.viewing`."""
