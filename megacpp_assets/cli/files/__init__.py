"""Commands on a file, an artifact or a Megatron pair that somebody names."""
