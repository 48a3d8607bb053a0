"""Everything of Dagster: assets, partitions, checks, resources and jobs."""
