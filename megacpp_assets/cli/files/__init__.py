"""Commands that take a file, an artifact or a Megatron pair by its path."""
