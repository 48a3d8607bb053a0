"""Tests of `megacpp_assets.semantic.graph`."""
