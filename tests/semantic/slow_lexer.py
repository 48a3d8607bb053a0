"""The native lexer's slow twin: the same tokens by one regular expression."""

from __future__ import annotations

import re

Range = tuple[int, int]

_TOKEN = re.compile(
    rb"""
    ["'/#](?:                                     # one class of first bytes, so that the scan is fast
      (?<=/)(?:
        /[^\\\n]*(?:\\(?:\r\n|[\s\S])[^\\\n]*)*\\?     # line comment
      | \*[\s\S]*?(?:\*/|\Z) )                    # block comment
    | (?:(?<![A-Za-z0-9_]R")|(?<=u8R")|(?<=[uUL]R"))(?<=R")
        (?P<mark>[^ ()\\\t\v\f\n"]{0,16})\([\s\S]*?(?:\)(?P=mark)"|\Z)   # raw string
    | (?<=")[^"\\\n]*(?:\\(?:\r\n|[\s\S])[^"\\\n]*)*"?        # string
    | (?<=')[^'\\\n]*(?:\\(?:\r\n|[\s\S])[^'\\\n]*)*'?        # character
    | (?<=\#) )
    """,
    re.VERBOSE,
)
_SLASH, _HASH, _QUOTE = b"/#'"
_WORD = re.compile(rb"\w*\Z")
_HEX = b"0123456789ABCDEFabcdef"


def slow_tokens(code: bytes) -> tuple[list[Range], list[Range], list[int]]:
    """Comments, literals, and where the lines of directives begin."""
    comments: list[Range] = []
    literals: list[Range] = []
    lines: list[int] = []
    at, separated = 0, -1
    while match := _TOKEN.search(code, at):
        start, at = match.span()
        end, first = at, code[start]
        if first == _QUOTE and _separates(code, start, separated):
            at, separated = start + 2, start + 1
        elif first == _SLASH:
            comments.append((start, end))
        elif first == _HASH:
            line = code.rfind(b"\n", 0, start) + 1
            if not code[line:start].strip(b" \t"):
                lines.append(line)
        elif first != _QUOTE or end - start > 2 or code[end - 1] == _QUOTE:
            literals.append((start, end))
    return comments, literals, lines


def _separates(code: bytes, quote: int, separated: int) -> bool:
    """Whether the quote is one of 0xFF'FF; `separated` is behind the last such quote."""
    around = code[quote - 1 : quote] + code[quote + 1 : quote + 2]
    if quote == 0 or len(around) < 2 or not all(byte in _HEX for byte in around):
        return False
    word = _WORD.search(code[:quote])
    assert word is not None
    return word[0][:1].isdigit() or word.start() == separated or code[: word.start()].endswith(b".")
