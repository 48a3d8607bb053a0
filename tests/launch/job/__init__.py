"""Tests of `megacpp_assets.launch.job`."""
