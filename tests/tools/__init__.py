"""Tests of `megacpp_assets.tools`."""
