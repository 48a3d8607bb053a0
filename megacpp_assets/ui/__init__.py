"""Dagster's UI for one user of this machine: its web server behind a door, its services on private sockets."""

from megacpp_assets.contract.extras import require

require("dagster")
