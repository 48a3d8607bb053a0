"""Keeps pandas out of a process that does not use it."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder


class _WithoutPandas(MetaPathFinder):
    """An import finder that hides pandas, wherever it is installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """See `MetaPathFinder`."""
        if fullname == "pandas":
            raise ModuleNotFoundError("this process uses no pandas", name=fullname)


def without_pandas() -> None:
    """Prevent pyarrow from importing pandas with its first array of Python objects.

    No stage uses pandas; importing it takes as long as enriching 200,000 tokens. A training of several processes cannot
    be without it: `torch._dynamo` looks for it.
    """
    sys.meta_path.insert(0, _WithoutPandas())
