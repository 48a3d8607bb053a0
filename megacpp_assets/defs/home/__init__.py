"""Dagster's home in a data root: the instance, its database, the logs of its runs."""
