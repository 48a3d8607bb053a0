"""Stage 7: model, masks, loop, checkpoints, launchers."""
