"""All of Dagster: assets, partitions, checks, resources, jobs."""
