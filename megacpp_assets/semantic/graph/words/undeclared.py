"""Finds uses of what no file's own parse declares: `#ifdef STATIC_LINKING_ONLY` hides it from the parse of the header.

The parse of a file that defines the macro resolves the use, and only the declaration is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_BEHIND = re.compile(rb"\}\s*([A-Za-z_]\w*)\s*;\s*\Z")
"""The name that a typedef gives."""
_KINDS = ("class_decl", "typedef", "func_body", "func_sig", "other")


def undeclared(files: Sequence[FileFacts], seen: NDArray[np.bool_]) -> Pairs:
    """Yield the use of the chunk with the used name, or of the one around an enumerator or a member.

    `seen` tells for each chunk of all files whether the parser saw a declaration in it.
    """
    hidden = _hidden(files, seen)
    if not hidden:
        return
    known = np.unique(np.concatenate([facts.links.declared.id for facts in files]))
    for base, facts in numbered(files):
        names = {symbol_id(name): name for name, _ in facts.entities.used}
        used = facts.links.used
        missing = ~np.isin(used.id, known)
        for chunk, each in sorted(set(zip(used.chunk[missing].tolist(), used.id[missing].tolist(), strict=True))):
            target = _named(names.get(each, ""), hidden)
            if target is not None:
                yield base + chunk, target


def _hidden(files: Sequence[FileFacts], seen: NDArray[np.bool_]) -> dict[str, int]:
    """Return the first chunk of each name that its file's own parse did not see."""
    found: dict[str, int] = {}
    for base, facts in numbered(files):
        for number, chunk in enumerate(facts.chunks):
            if not seen[base + number] and chunk.name and chunk.kind in _KINDS and chunk.unit[0] == number:
                behind = _BEHIND.search(code_of(facts, number)) if chunk.kind == "class_decl" else None
                # In front of a name there may be a macro that nobody expanded.
                for name in (chunk.name.split()[-1], *([behind[1].decode()] if behind else [])):
                    found.setdefault(name, base + number)
    return found


def _named(name: str, hidden: Mapping[str, int]) -> int | None:
    return hidden.get(name, hidden.get(name.rpartition("::")[0])) if name else None
