"""`megatron_bin_idx`: Megatron's index format, a streaming writer, a reader, and verification."""
