"""Finds the files of a tree that contain a name, and so may call a function of that name. Only texts are read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_WORD: Final = re.compile(rb"[A-Za-z_]\w*")


@dataclass(slots=True)
class TreeIdentifiers:
    """The identifiers in the files of a tree, comments and literals included."""

    _words: dict[str, frozenset[bytes]] = field(default_factory=dict)
    _paths: dict[bytes, set[str]] = field(default_factory=dict)
    _known: dict[bytes, bytes] = field(default_factory=dict)

    def put(self, path: str, data: bytes) -> None:
        """Set the text of the file at `path`; b"" removes the file."""
        before, after = (
            self._words.pop(path, frozenset()),
            frozenset(self._known.setdefault(word, word) for word in _WORD.findall(data)),
        )
        if after:
            self._words[path] = after
        for word in before - after:
            paths = self._paths[word]
            paths.discard(path)
            if not paths:
                del self._paths[word]
        for word in after - before:
            self._paths.setdefault(word, set()).add(path)

    def of(self, name: str) -> set[str]:
        """Return the files that contain `name`; none if it is not an identifier, such as the name of an operator."""
        return self._paths.get(name.encode(), set())
