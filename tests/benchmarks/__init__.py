"""Tests of `megacpp_assets.benchmarks`."""
