"""Texts that have a part of a conditional only, such as an `#else` without its `#if`."""

from __future__ import annotations

import re

_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|el|endif)", re.M)


def is_torn(text: str) -> bool:
    """Return whether `text` has a directive of a conditional that begins or ends outside of it."""
    depth = 0
    for directive in _CONDITIONAL.findall(text) if "#" in text else ():
        if directive != "if" and not depth:
            return True
        depth += {"if": 1, "el": 0, "endif": -1}[directive]
    return depth > 0
