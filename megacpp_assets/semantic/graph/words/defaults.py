"""Finds the declarations that have the default arguments of a function or of a class template.

The definition does not repeat them, so a use with fewer arguments means nothing without that declaration.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table
from megacpp_assets.semantic.graph.words.chunk_text import code_of

_OF_FUNCTION = re.compile(rb"\(.*[\w\s&*>\]]=(?!\s*(?:=|default\b|delete\b))", re.S)
_OF_TEMPLATE = re.compile(rb"\s*+template\s*+<[^;{}=]*+=[^;{}]*+;?\s*+\Z")


def prototypes(
    files: Sequence[FileFacts], sizes: Sequence[int], declared: Table
) -> tuple[Sequence[int], Sequence[int]]:
    """Return (users, used): chunks that define functions and class templates, and the declarations with their default
    arguments.
    """
    known = declared["usr"] != 0
    chosen = np.flatnonzero(known & declared["definition"])
    chosen = chosen[np.argsort(declared["usr"][chosen], kind="stable")]
    defined, bases = declared["usr"][chosen], np.cumsum([0, *sizes])
    others = np.flatnonzero(known & ~declared["definition"])
    first = np.searchsorted(defined, declared["usr"][others], side="left")
    last = np.searchsorted(defined, declared["usr"][others], side="right")
    users, used, defaults = array("q"), array("q"), dict[int, bool]()
    for place in np.flatnonzero(first < last).tolist():
        file, chunk = int(declared["file"][others[place]]), int(declared["chunk"][others[place]])
        if chunk not in defaults:
            defaults[chunk] = _has_defaults(files[file], chunk - int(bases[file]))
        if defaults[chunk]:
            definitions = declared["chunk"][chosen[first[place] : last[place]]]
            users.extend(definitions.tolist())
            used.extend([chunk] * len(definitions))
    return users, used


def _has_defaults(facts: FileFacts, number: int) -> bool:
    kind, code = facts.chunks[number].kind, code_of(facts, number)
    if kind == "class_decl":
        return _OF_TEMPLATE.match(code) is not None
    return kind == "func_sig" and _OF_FUNCTION.search(code) is not None
