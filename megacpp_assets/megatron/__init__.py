"""Stage 6: Megatron index format, streaming writer, reader, verification."""
