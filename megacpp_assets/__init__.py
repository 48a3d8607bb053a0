"""Pinned C++ repositories to audited training corpora and checkpoints, as one Dagster asset graph.

`megacpp_assets.open("data", "base/4k")` is the entry for training scripts; docs/python.md shows its use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from megacpp_assets.interop.mixture import MixtureData

__all__ = ["open"]


def open(root: str | os.PathLike[str], name: str, dataset: str = "") -> MixtureData:
    """Return the mixture `name`, for example "base/4k", below the data root `root`; see
    `interop.mixture.open_mixture`.
    """
    from megacpp_assets.interop.mixture import open_mixture

    return open_mixture(root, name, dataset)
