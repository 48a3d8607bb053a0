"""The one Dagster entry point: `megacpp ui`, `dg` and whoever asks Dagster load this."""

from __future__ import annotations

import click
import dagster as dg

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.home.instance import served_root, warn_of_temporary_instance


def _load() -> dg.Definitions:
    """Return the definitions of the data root; what they cannot be made of is one sentence on Dagster's command
    line.
    """
    root = served_root()
    warn_of_temporary_instance(root)
    try:
        return build_definitions(root)
    except MegacppError as error:
        raise click.ClickException(str(error)) from None


defs: dg.Definitions = _load()
