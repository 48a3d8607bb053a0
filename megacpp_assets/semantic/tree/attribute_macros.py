"""Finds macros such as `LIB_EXPORT` in front of declarations that no file defines.

A build generates their header, as CMake's `generate_export_header` does. Without them a parser reads `class LIB_EXPORT
Reader {` as a variable. For a static library the generated header defines them as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKS = (b"_EXPORT", b"_DEPRECATED", b"_API")
_NAME = r"[A-Z][A-Z0-9_]*_(?:EXPORT|DEPRECATED|API)"
_USE = re.compile(rf"(?:^[ \t]*+|\b(?:class|struct|union|enum)[ \t]++)({_NAME})\s++[A-Za-z_]".encode(), re.M)
_GENERATED = re.compile(rf"#define {_NAME}")
_CHANGE = re.compile(rb"^[ \t]*+#[ \t]*+(define|undef)[ \t]++(\w++)", re.M)


def generated(macro: str) -> str:
    """Return the line by which a document defines one of these macros."""
    return f"#define {macro}"


def is_generated(line: str) -> bool:
    """Return whether a line of a document may be the definition of such a macro."""
    return _GENERATED.fullmatch(line) is not None


def attribute_macros(texts: Iterable[bytes]) -> list[str]:
    """Return the macros that one of `texts` uses in front of a declaration and none defines, sorted.

    A text that undefines a macro and defines it again has it from elsewhere.
    """
    used, defined = set[bytes](), set[bytes]()
    for text in texts:
        if any(mark in text for mark in _MARKS):
            used.update(_USE.findall(text))
            changes = set(_CHANGE.findall(text))
            defined.update(name for change, name in changes if change == b"define" and (b"undef", name) not in changes)
    return sorted(name.decode() for name in used - defined)
