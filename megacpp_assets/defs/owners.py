"""The owners of the assets."""

from __future__ import annotations

from typing import Final

OWNERS: Final = ["team:ml-data"]
