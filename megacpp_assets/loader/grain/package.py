"""Grain itself; `MissingExtra`, which names the command that installs it, where it is missing."""

from __future__ import annotations

from megacpp_assets.contract.extras import require

require("grain")

import grain  # noqa: E402 - the line above says what to install

__all__ = ["grain"]
