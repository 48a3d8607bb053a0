"""Tests of `megacpp_assets.reports`."""
