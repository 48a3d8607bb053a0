"""Tests of `megacpp_assets.contract.recipe`."""
