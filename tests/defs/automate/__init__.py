"""Tests of `megacpp_assets.defs.automate`."""
