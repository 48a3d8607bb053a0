"""Tests of `megacpp_assets.contract.lock`."""
