"""Where a namespace's opening ends, and its closing begins: behind its own brace, or the macro that opens it; never
behind the brace of what it holds."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from megacpp_assets.semantic.outline.nodes import Node

_GAP = rb"[ \t\r\n\f\v\\]|//[^\n]*+|/\*[\s\S]*?\*/|\#[^\n]*+"
_NEXT = re.compile(rb"(?:" + _GAP + rb")*+")
_HEAD = re.compile(
    rb"(?:" + _GAP + rb'|[\w:]++|"[^"\n]*+"|\[\[(?:[^\[\]"]|"[^"\n]*+")*+\]\]'
    rb'|\((?:[^(){};"]|"[^"\n]*+"|\((?:[^(){};"]|"[^"\n]*+")*+\))*+\))*+\{'
)
"""Words, attributes with arguments, `"C"`, and the brace."""
_WORDS = re.compile(rb"(?:inline\s+)?(?:namespace|extern)\b")
_OWN = re.compile(rb"(?:inline\s+)?namespace\b|\{")
"""What may go on behind a macro that is only a part of an opening."""


def opening_end(code: bytes, node: Node, macros: Mapping[int, int], others: Container[int]) -> int:
    """Behind what opens the namespace `node`: its brace, or the macro that hides it (`macros`: ends by starts); the end
    of its first line if neither is there. At `others` other namespaces begin."""
    start = node.start
    if start in macros:
        start = _behind_gap(code, macros[start])
        while start in macros and start not in others:
            start = _behind_gap(code, macros[start])
        if start >= node.end or start in others or not _OWN.match(code, start):
            return min(macros[node.start], node.end)
    if head := _HEAD.match(code, start, node.end):
        return head.end()
    line = code.find(b"\n", node.start, node.end)
    return line if line >= 0 else node.end


def in_opening(code: bytes, node: Node, offset: int) -> bool:
    """Whether `offset` lies before the brace of the namespace `node`, which no macro hides."""
    head = _HEAD.match(code, node.start, node.end) if _WORDS.match(code, node.start) else None
    return head is not None and offset < head.end()


def closing_start(code: bytes, node: Node, closers: Mapping[int, int]) -> int:
    """Where what closes `node` begins: its brace, or the macro that hides it (`closers`: starts by ends)."""
    return closers.get(node.end, node.end - 1 if code[node.end - 1 : node.end] == b"}" else node.end)


def _behind_gap(code: bytes, offset: int) -> int:
    match = _NEXT.match(code, offset)
    return match.end() if match else offset
