"""Where the characters of a document came from, and the chunks that they make up: values that its record holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constituent:
    """Where the characters [char_start, char_end) of a document came from: the bytes of the file in the commit, which
    are the characters in `encoding`."""

    filepath: str
    byte_start: int
    byte_end: int
    char_start: int
    char_end: int
    role: int
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Boundary:
    """A chunk in a document, half-open in characters."""

    char_offset: int
    char_end: int
    kind: str
    name: str
    dep_level: int
    is_leaf: bool
