"""Finds the literal operators that macros use, as `_text` in `#define TEXT(word) #word##_text`.

libclang links an expansion with what it uses, and a definition with nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, numbered
from megacpp_assets.semantic.graph.words.mentions import last_name

_OPERATOR = re.compile(r'operator\s*+""\s*+(\w++)\Z')
_FUNCTIONS = ("func_body", "func_sig")
_SUFFIX = re.compile(rb"""(?:\#\#[ \t]*+|["'])([A-Za-z_]\w*+)""", re.X)


def literals(files: Sequence[FileFacts]) -> Pairs:
    """Yield the use of each literal operator by the chunks in which its suffix is pasted or stands behind a literal."""
    operators = _operators(files)
    for base, facts in numbered(files) if operators else ():
        starts = [chunk.start for chunk in facts.chunks]
        for match in _SUFFIX.finditer(facts.source.data):
            suffix = match[1].decode()
            if suffix in operators and (number := bisect_right(starts, match.start()) - 1) >= 0:
                yield base + number, operators[suffix]


def _operators(files: Sequence[FileFacts]) -> Mapping[str, int]:
    """Return the chunks of literal operators by suffix: of several the first in a header, or the first."""
    found: dict[str, int] = {}
    for headers in (True, False):
        for base, facts in numbered(files):
            for number, chunk in enumerate(facts.chunks) if facts.file.header == headers else ():
                if chunk.kind in _FUNCTIONS and (name := _OPERATOR.match(last_name(chunk.name))):
                    found.setdefault(name[1], base + number)
    return found
