"""What the commands record in Dagster: their runs, the reports, and what an earlier command did not record."""
