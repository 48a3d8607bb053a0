"""Finds the end of a namespace's opening and the start of its closing.

The opening ends after its own brace or the macro that hides the brace, never after a brace inside of the namespace.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from megacpp_assets.semantic.outline.nodes import Node

_GAP = rb"[ \t\r\n\f\v\\]++|//[^\n]*+|/\*[\s\S]*?\*/|\#[^\n]*+"
_NEXT = re.compile(rb"(?>(?:" + _GAP + rb")*)")
_HEAD = re.compile(
    rb"(?>(?:" + _GAP + rb'|[\w:]++|"[^"\n]*+"|\[\[(?>(?:[^\[\]"]++|"[^"\n]*+")*)\]\]'
    rb'|\((?>(?:[^(){};"]++|"[^"\n]*+"|\((?>(?:[^(){};"]++|"[^"\n]*+")*)\))*)\))*)\{'
)
"""Words, attributes with arguments, `"C"`, and the brace."""
_WORDS = re.compile(rb"(?:inline\s+)?(?:namespace|extern)\b")
_OWN = re.compile(rb"(?:inline\s+)?namespace\b|\{")
"""Text that continues an opening after a macro."""


def opening_end(code: bytes, node: Node, macros: Mapping[int, int], others: Container[int]) -> int:
    """Return the end of the opening of the namespace `node`: after its brace, or after the macro that hides it.

    It is the end of the first line if both are missing. `macros` are ends of invocations by start. `others` are the
    starts of other namespaces.
    """
    start = node.start
    if start in macros:
        start = _after_gap(code, macros[start])
        while start in macros and start not in others:
            start = _after_gap(code, macros[start])
        if start >= node.end or start in others or not _OWN.match(code, start):
            return min(macros[node.start], node.end)
    if head := _HEAD.match(code, start, node.end):
        return head.end()
    line = code.find(b"\n", node.start, node.end)
    return line if line >= 0 else node.end


def in_opening(code: bytes, node: Node, offset: int) -> bool:
    """Return whether `offset` is before the brace of the namespace `node`; false if a macro hides the brace."""
    head = _HEAD.match(code, node.start, node.end) if _WORDS.match(code, node.start) else None
    return head is not None and offset < head.end()


def closing_start(code: bytes, node: Node, closers: Mapping[int, int]) -> int:
    """Return the start of the brace that closes `node`, or of the macro that hides it (`closers`: starts by ends)."""
    return closers.get(node.end, node.end - 1 if code[node.end - 1 : node.end] == b"}" else node.end)


def _after_gap(code: bytes, offset: int) -> int:
    match = _NEXT.match(code, offset)
    return match.end() if match else offset
