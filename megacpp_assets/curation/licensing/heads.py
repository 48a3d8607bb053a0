"""The licence head of a source file: the first comment that speaks of a licence, as words.

Thousands of files share a few heads, so a detector that takes a second for each is asked about each distinct head once.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from megacpp_assets.repos.licensing.licences import HEAD_BYTES

_COMMENT = re.compile(
    rb"(?>(?:/\*(?>(?:[^*\n]++|\*(?!/))*)\*/[ \t\r]*+\n[ \t]*+(?=/\*(?>(?:[^*\n]++|\*(?!/))*)\*/)){1,400})/\*[^\n]*+"
    rb"|/\*(?>(?:[^*]++|\*(?!/))*)\*/|(?>(?://[^\n]*+(?:\n[ \t]*+(?=//)|$|(?=\n)))+)"
)
"""A block comment, or lines of `//` or of a block comment each without an empty line between them."""
_GAP = re.compile(rb"[\s\xef\xbb\xbf]*+")
_WORD = re.compile(r"[a-z0-9]+")
_MARK = re.compile(
    r"\b(?:licen[sc]ed?|permission is hereby|redistribution and use|public domain|all rights reserved"
    r"|to the extent possible under law"
    r"|this (?:file|program|library|software) is (?:free|part)|use of this source code"
    r"|(?:distributed|supplied|released|made available) under)\b"
)
WORDS = 300
"""Words of a head that count; BSD-3-Clause has 214."""


@dataclass(frozen=True, slots=True)
class LicenceHead:
    """`text` is the head's words in small letters, from the first that speaks of a licence; `key` is its hash."""

    key: str
    text: str


def licence_head(data: bytes) -> LicenceHead | None:
    """Return the licence head of a source, or None: only comments before the first code within `HEAD_BYTES` are
    read.
    """
    head, at = data[:HEAD_BYTES], 0
    while True:
        gap = _GAP.match(head, at)
        at = gap.end() if gap else at
        comment = _COMMENT.match(head, at)
        if comment is None:
            comment = _unfinished(head, at)
        if comment is None:
            return None
        words = words_of(comment[0].decode("utf-8", "replace"))
        if mark := _MARK.search(words):
            return head_of(words[mark.start() :])
        at = comment.end()


def head_of(words: str) -> LicenceHead:
    """Return the head of a text that is words already: the first `WORDS` of them, and their hash."""
    text = " ".join(words.split(" ")[:WORDS])
    return LicenceHead(hashlib.sha256(text.encode()).hexdigest()[:16], text)


def words_of(text: str) -> str:
    """Return a text as its words in small letters, one space between them: how it is laid out does not count."""
    return " ".join(_WORD.findall(text.lower()))


def _unfinished(head: bytes, at: int) -> re.Match[bytes] | None:
    """A block comment that goes on behind the bytes that are read."""
    return re.compile(rb"/\*.*", re.S).match(head, at)
