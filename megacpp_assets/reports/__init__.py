"""What all partitions of a data root hold together: tables in DuckDB, made and tested by dbt."""

from megacpp_assets.contract.extras import require

require("build")
