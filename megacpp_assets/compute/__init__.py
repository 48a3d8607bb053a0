"""One seam for parallel work: a crash-isolated local pool, or a Dask cluster."""
