"""Tests of `megacpp_assets.tokenizer`."""
