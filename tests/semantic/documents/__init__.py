"""Tests of `megacpp_assets.semantic.documents`."""
