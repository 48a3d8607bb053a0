"""Tests of `megacpp_assets.semantic.outline`."""
