"""Tests of `megacpp_assets.storage.caching`."""
