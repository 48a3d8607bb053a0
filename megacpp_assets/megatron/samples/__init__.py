"""The samples that megatron-core makes from prefixes, one by one and blended."""
