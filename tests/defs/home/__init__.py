"""Tests of `megacpp_assets.defs.home`."""
