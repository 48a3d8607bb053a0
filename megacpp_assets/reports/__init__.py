"""Reports across all partitions of a data root: tables in DuckDB, built and tested by dbt."""

from megacpp_assets.contract.extras import require

require("build")
