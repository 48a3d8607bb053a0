"""The one Dagster entry point: `megacpp ui`, `dg` and whoever asks Dagster load this."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.defs.build import build_definitions
from megacpp_assets.storage.layout import data_root

defs: dg.Definitions = build_definitions(data_root())
