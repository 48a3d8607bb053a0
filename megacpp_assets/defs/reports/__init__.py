"""The tables of `megacpp quality` in Dagster."""
