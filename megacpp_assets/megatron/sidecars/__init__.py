"""Files beside a pair, which Megatron does not read: channels, row starts, chunks and platforms."""
