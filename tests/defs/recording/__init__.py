"""Tests of `megacpp_assets.defs.recording`."""
