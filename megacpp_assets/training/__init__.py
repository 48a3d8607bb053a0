"""`trained_checkpoint`: model, masks, loop, checkpoints, launchers."""
