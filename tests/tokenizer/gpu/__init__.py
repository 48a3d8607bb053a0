"""Tests of `megacpp_assets.tokenizer.gpu`."""
