"""Invariants of `resolved_windows`: those of `commit_windows`, whose builder makes them."""

from __future__ import annotations

from megacpp_assets.quality.windows import CHECKS, check

__all__ = ["CHECKS", "check"]
