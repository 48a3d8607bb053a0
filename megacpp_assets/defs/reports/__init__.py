"""The tables of `megacpp quality` as Dagster assets."""
