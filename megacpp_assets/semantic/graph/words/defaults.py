"""Finds the prototypes that have the default arguments of a function.

The definition does not repeat them, so a call with fewer arguments means nothing without the prototype.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table
from megacpp_assets.semantic.graph.words.chunk_text import code_of

_DEFAULT = re.compile(rb"\(.*[\w\s&*>\]]=(?!\s*(?:=|default\b|delete\b))", re.S)


def prototypes(
    files: Sequence[FileFacts], sizes: Sequence[int], declared: Table
) -> tuple[Sequence[int], Sequence[int]]:
    """Return (users, used): chunks that define functions, and the prototypes with their default arguments."""
    callable_ = (declared["spelling"] != 0) & (declared["usr"] != 0)
    chosen = np.flatnonzero(callable_ & declared["definition"])
    chosen = chosen[np.argsort(declared["usr"][chosen], kind="stable")]
    defined, bases = declared["usr"][chosen], np.cumsum([0, *sizes])
    others = np.flatnonzero(callable_ & ~declared["definition"])
    first = np.searchsorted(defined, declared["usr"][others], side="left")
    last = np.searchsorted(defined, declared["usr"][others], side="right")
    users, used = array("q"), array("q")
    for place in np.flatnonzero(first < last).tolist():
        file, chunk = int(declared["file"][others[place]]), int(declared["chunk"][others[place]])
        if _has_defaults(files[file], chunk - int(bases[file])):
            definitions = declared["chunk"][chosen[first[place] : last[place]]]
            users.extend(definitions.tolist())
            used.extend([chunk] * len(definitions))
    return users, used


def _has_defaults(facts: FileFacts, number: int) -> bool:
    return facts.chunks[number].kind == "func_sig" and _DEFAULT.search(code_of(facts, number)) is not None
