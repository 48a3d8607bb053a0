"""Where a function's signature or a class's head ends, so that a declaration can stand for the whole."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from megacpp_assets.semantic.graph.chunks import Chunk
from megacpp_assets.semantic.outline.lexer import Lexed, level_behind
from megacpp_assets.semantic.outline.macros import next_solid
from megacpp_assets.semantic.outline.nodes import Outline, Role

NO_SIGNATURE = (-1, -1)
_MARK = re.compile(rb"""::|[()\[\]{}:]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*""", re.S)
_FINAL = re.compile(rb"\s+(?:final|sealed)\s*\Z")
_UNSCOPED = re.compile(rb"enum\s+(?!class\b|struct\b)")
_SPELLED = re.compile(r"([A-Za-z_]\w*)(?:<.*>)?\Z")


def signatures_of(code: bytes, lexed: Lexed, nodes: Outline, chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    """The byte range of each chunk's signature or head, `NO_SIGNATURE` for what has none that one can see.

    A function's ends before its body, a constructor's before its member initialisers, a class's before its bases.
    Comments and directives in front are left out; what holds a part of a conditional has none.
    """
    bodies = sorted(nodes.start[nodes.role == Role.BODY].tolist())
    return [_range(code, lexed, bodies, chunk) for chunk in chunks]


def _range(code: bytes, lexed: Lexed, bodies: list[int], chunk: Chunk) -> tuple[int, int]:
    start = _first_code(code, lexed, chunk)
    end = _signature_end(code, bodies, chunk, start) if chunk.kind == "func_body" else _head_end(code, chunk, start)
    end = start + len(code[start:end].rstrip())
    # A macro's invocation, as in TEST(Suite, Name) { … }, declares nothing without its body.
    named = chunk.name and chunk.name.rsplit("::", 1)[-1].split("<")[0].encode() in code[start:end]
    return (start, end) if named and level_behind(lexed, start, end) == 0 else NO_SIGNATURE


def _first_code(code: bytes, lexed: Lexed, chunk: Chunk) -> int:
    """Where a chunk begins behind comments and the directives of the conditional that is its own."""
    start = next_solid(code, chunk.start)
    while start < chunk.end and lexed.directed[start]:
        number = int(np.searchsorted(lexed.directives[:, 0], start, side="right")) - 1
        start = next_solid(code, int(lexed.directives[number, 1]))
    return start


def _signature_end(code: bytes, bodies: list[int], chunk: Chunk, start: int) -> int:
    place = bisect_left(bodies, start)
    body = bodies[place] if place < len(bodies) else chunk.end
    if body >= chunk.end:
        return start
    return _before_initialisers(code, start, body) if _constructs(chunk.name) else body


def _head_end(code: bytes, chunk: Chunk, start: int) -> int:
    """Where the bases or the members of a class begin; `start` for what cannot be declared without them."""
    if chunk.kind != "class_decl" or _UNSCOPED.match(code, start):
        return start
    depth = 0
    for match in _MARK.finditer(code, start, chunk.end):
        mark = match[0]
        if depth == 0 and mark in (b":", b"{"):
            return start + len(_FINAL.sub(b"", code[start : match.start()]))
        depth += (mark in (b"(", b"[")) - (mark in (b")", b"]"))
    return start


def declared_end(code: bytes, start: int, end: int) -> int:
    """Where the signature of the function with a body at [start, end) ends: before its initialisers or its body."""
    end = _before_initialisers(code, start, end)
    depth = 0
    for match in _MARK.finditer(code, start, end):
        if depth == 0 and match[0] == b"{":
            end = match.start()
            break
        depth += (match[0] in (b"(", b"[")) - (match[0] in (b")", b"]"))
    return start + len(code[start:end].rstrip())


def _constructs(name: str) -> bool:
    """Whether the function called `name` is a constructor: the last two parts of its name are equal."""
    parts = [found[1] for part in name.rsplit("::", 2)[-2:] if (found := _SPELLED.match(part))]
    return len(parts) == 2 and parts[0] == parts[1]


def _before_initialisers(code: bytes, start: int, body: int) -> int:
    """Where `: member(value)` begins between `start` and `body`: the first single colon behind the parameters."""
    depth, called = 0, False
    for match in _MARK.finditer(code, start, body):
        mark = match[0]
        if mark in (b"(", b"[", b"{"):
            depth += 1
        elif mark in (b")", b"]", b"}"):
            depth -= 1
            called = called or (depth == 0 and mark == b")")
        elif mark == b":" and depth == 0 and called:
            return match.start()
    return body
