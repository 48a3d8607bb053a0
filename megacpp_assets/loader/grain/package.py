"""Imports Grain. Raises `MissingExtra`, which names the command that installs it, if it is missing."""

from __future__ import annotations

from megacpp_assets.contract.extras import require

require("grain")

import grain  # noqa: E402 - `require` must run first: its error says what to install

__all__ = ["grain"]
