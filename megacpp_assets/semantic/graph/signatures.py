"""Finds the signature of a function and the head of a class, so that a declaration can replace the definition."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from megacpp_assets.semantic.graph.chunks import Chunk
from megacpp_assets.semantic.outline.lexer import Lexed, level_after
from megacpp_assets.semantic.outline.macros import next_solid
from megacpp_assets.semantic.outline.nodes import Outline, Role

NO_SIGNATURE = (-1, -1)
_MARK = re.compile(rb"""::|[()\[\]{}:]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*""", re.S)
_SOLID = re.compile(rb"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\S""", re.S)
_FINAL = re.compile(rb"\s+(?:final|sealed)\s*\Z")
_WORD_BEHIND = re.compile(rb"(?<=\w)\s+[A-Za-z_]\w*\Z")
_UNSCOPED = re.compile(rb"enum\s+(?!class\b|struct\b)")
_FRIEND = re.compile(rb"\bfriend\b")
_ATTRIBUTED_FRIEND = re.compile(rb"\s*+(?>(?:\[\[[^\]]*+\]\]\s*+)+)friend\b")
_DEFAULT = re.compile(rb"(?<![=!<>+*/%&|^-])=(?!=)")
_DEDUCED = re.compile(
    rb"\b(?:auto|decltype\s*\(\s*auto\s*\))[\s&*]+(?:[\w:]+::)?(?:operator\s*(?:\(\s*\)|[^\s(\w]+|\w+)|\w+)\s*\("
)
_OPERATOR = re.compile(r"(?:\A|::)operator\b")
_SPELLED = re.compile(r"([A-Za-z_]\w*)(?:<.*>)?\Z")


def signatures_of(code: bytes, lexed: Lexed, nodes: Outline, chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Return the byte range of each chunk's signature or head, or `NO_SIGNATURE`.

    A function's signature ends before its body, a constructor's before its member initialisers, a class's head before
    its bases. Comments and directives before it are left out. A signature that would split a preprocessor conditional
    is `NO_SIGNATURE`, and so is one with a deduced return type, because no code can call it without its body.
    """
    bodies = sorted(nodes.start[nodes.role == Role.BODY].tolist())
    return [_range(code, lexed, bodies, chunk) for chunk in chunks]


def _range(code: bytes, lexed: Lexed, bodies: list[int], chunk: Chunk) -> tuple[int, int]:
    start = first_code(code, lexed, chunk.start, chunk.end)
    end = _signature_end(code, bodies, chunk, start) if chunk.kind == "func_body" else _head_end(code, chunk, start)
    end = _code_end(code, start, end)
    # A macro invocation such as TEST(Suite, Name) { … } is not a declaration without its body.
    named = chunk.name and _spelled(chunk.name).encode() in code[start:end]
    if not named or level_after(lexed, start, end) != 0 or needs_body(code[start:end]):
        return NO_SIGNATURE
    return start, end


def _spelled(name: str) -> str:
    """Return what the text of a definition has of its qualified `name`. It may write the type of a conversion in
    another way: `operator unsigned` for `operator unsigned int`.
    """
    return "operator" if _OPERATOR.search(name) else name.rsplit("::", 1)[-1].split("<", maxsplit=1)[0]


def needs_body(signature: bytes) -> bool:
    """Return whether a function is of no use without its body: its return type is deduced from it, or it is a friend
    with attributes or default arguments, which only a definition may have.
    """
    found = _DEDUCED.search(signature)
    is_deduced = found is not None and b"->" not in signature[found.end() :]
    has_defaults = _FRIEND.search(signature) is not None and _DEFAULT.search(signature) is not None
    return is_deduced or has_defaults or _ATTRIBUTED_FRIEND.match(signature) is not None


def first_code(code: bytes, lexed: Lexed, start: int, end: int) -> int:
    """Return the start of the code in [start, end), after comments and directives."""
    start = next_solid(code, start)
    while start < end and lexed.directed[start]:
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
    """Return where the bases or members of a class begin; `start` if it cannot be declared without them (an enum).

    The type of an enumeration's values is a part of its head: each declaration repeats it.
    """
    ends = (b"{",) if code.startswith(b"enum", start) else (b":", b"{")
    if chunk.kind != "class_decl" or _UNSCOPED.match(code, start):
        return start
    depth = 0
    for match in _MARK.finditer(code, start, chunk.end):
        mark = match[0]
        if depth == 0 and mark in ends:
            return start + len(_without_specifier(code[start : _code_end(code, start, match.start())], chunk.name))
        depth += (mark in (b"(", b"[")) - (mark in (b")", b"]"))
    return start


def _without_specifier(head: bytes, name: str) -> bytes:
    """Return the head of a class without `final` behind its `name`, or a macro for it: only a definition has them."""
    head = _FINAL.sub(b"", head)
    behind = _WORD_BEHIND.search(head)
    own = re.escape(name.rpartition("::")[2].encode())
    if behind and own and re.search(rb"\b" + own + rb"\Z", head[: behind.start()]):
        return head[: behind.start()]
    return head


def declared_end(code: bytes, start: int, end: int) -> int:
    """Return the end of the signature of the function at [start, end): before its initialisers or its body."""
    end = _before_initialisers(code, start, end)
    depth = 0
    for match in _MARK.finditer(code, start, end):
        if depth == 0 and match[0] == b"{":
            end = match.start()
            break
        depth += (match[0] in (b"(", b"[")) - (match[0] in (b")", b"]"))
    return _code_end(code, start, end)


def _code_end(code: bytes, start: int, end: int) -> int:
    """Return where [start, end) ends without the space and the comments at its end."""
    end = start + len(code[start:end].rstrip())
    if code.find(b"//", start, end) < 0 and not code.endswith(b"*/", start, end):
        return end
    solid = (match for match in _SOLID.finditer(code, start, end) if not match[0].startswith((b"//", b"/*")))
    return max((match.end() for match in solid), default=start)


def _constructs(name: str) -> bool:
    """Return whether the function `name` is a constructor: the last two parts of its name are equal."""
    parts = [found[1] for part in name.rsplit("::", 2)[-2:] if (found := _SPELLED.match(part))]
    return len(parts) == 2 and parts[0] == parts[1]


def _before_initialisers(code: bytes, start: int, body: int) -> int:
    """Return the offset of `: member(value)`: the first single colon after the parameters; else `body`."""
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
