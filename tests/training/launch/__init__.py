"""Tests of `megacpp_assets.training.launch`."""
