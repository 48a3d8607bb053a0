"""Tests of `megacpp_assets.megatron`."""
