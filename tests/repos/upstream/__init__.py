"""Tests of `megacpp_assets.repos.upstream`."""
