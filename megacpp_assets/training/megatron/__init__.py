"""What this corpus adds to a model of megatron-core, which is no dependency: import it where Megatron is installed."""
