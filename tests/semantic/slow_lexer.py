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
    | (?<=[0-9A-Fa-f]')(?<!u8')[0-9A-Fa-f]           # quote inside a number: no literal
    | (?<=')[^'\\\n]*(?:\\(?:\r\n|[\s\S])[^'\\\n]*)*'?        # character
    | (?<=\#) )
    """,
    re.VERBOSE,
)
_SLASH, _HASH, _QUOTE = b"/#'"


def slow_tokens(code: bytes) -> tuple[list[Range], list[Range], list[int]]:
    """Comments, literals, and where the lines of directives begin."""
    comments: list[Range] = []
    literals: list[Range] = []
    lines: list[int] = []
    for match in _TOKEN.finditer(code):
        start, end = match.span()
        first = code[start]
        if first == _SLASH:
            comments.append((start, end))
        elif first == _HASH:
            line = code.rfind(b"\n", 0, start) + 1
            if not code[line:start].strip(b" \t"):
                lines.append(line)
        elif first != _QUOTE or end - start > 2 or code[end - 1] == _QUOTE:
            literals.append((start, end))
    return comments, literals, lines
