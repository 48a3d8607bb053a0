"""Executors of parallel work: a local pool whose workers may die, or a Dask cluster."""
