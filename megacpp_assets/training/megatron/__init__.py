"""Parts for a model of megatron-core. Megatron is not a dependency: import them where it is installed."""
