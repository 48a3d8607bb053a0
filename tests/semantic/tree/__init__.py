"""Tests of `megacpp_assets.semantic.tree`."""
