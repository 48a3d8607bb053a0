"""What a run records in Dagster: materializations, checks, progress, data versions."""
