"""A file's licence: its own SPDX tag within the first lines, else the repository's.

The texts are strangers' and are cut before they are looked at; each look takes time in proportion to its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

UNKNOWN = "NOASSERTION"
HEAD_BYTES = 8192
"""How much of a source is looked at for its tag."""
TEXT_BYTES = 1 << 16
"""How much of a licence file is looked at."""

_SPDX = re.compile(rb"SPDX-License-Identifier:[ \t]*([A-Za-z0-9][A-Za-z0-9.+() -]{0,100}[A-Za-z0-9+)])")
_BSD = b"Redistribution and use in source and binary forms"
_BSD_THIRD_CLAUSE = b"Neither the name"
_MARKS = (
    ("Apache-2.0", re.compile(rb"Apache License\s+Version 2\.0|Apache License, Version 2\.0")),
    ("BSL-1.0", re.compile(rb"Boost Software License")),
    ("GPL-2.0-only", re.compile(rb"GNU GENERAL PUBLIC LICENSE\s+Version 2")),
    ("GPL-3.0-only", re.compile(rb"GNU GENERAL PUBLIC LICENSE\s+Version 3")),
    ("MIT", re.compile(rb"Permission is hereby granted, free of charge")),
)
"""No two marks of one pattern overlap, nor the white space within: each character is looked at once or twice."""
_NAMES = ("license", "licence", "copying")


def is_licence_file(mode: str, path: str) -> bool:
    """Return whether this tree entry is a file at the root that a repository states its licence in."""
    return "/" not in path and mode.startswith("100") and path.lower().startswith(_NAMES)


def file_licence(head: bytes) -> str:
    """Return the SPDX id that a source states in its first bytes, or nothing."""
    tag = _SPDX.search(head, 0, HEAD_BYTES)
    return tag[1].decode() if tag else ""


def repository_licence(texts: Iterable[bytes]) -> str:
    """SPDX id of the first licence text that is known, else NOASSERTION."""
    return next(filter(None, map(_licence_of, texts)), UNKNOWN)


def _licence_of(text: bytes) -> str:
    for spdx, mark in _MARKS:
        if mark.search(text):
            return spdx
    start = text.find(_BSD)
    if start < 0:
        return ""
    return "BSD-3-Clause" if text.find(_BSD_THIRD_CLAUSE, start + len(_BSD)) >= 0 else "BSD-2-Clause"
