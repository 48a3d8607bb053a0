"""Finds the macros in documents that a generated header would define, as CMake's `generate_export_header` does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import Part


class AttributeMacros:
    """The macros of one repository that stand in front of declarations and that no file defines."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._words = re.compile(rf"\b(?:{'|'.join(repository.attribute_macros)})\b")
        self._named = recent(self._named_in)

    def named(self, parts: Iterable[Part]) -> list[str]:
        """Return the macros that `parts` of files name, sorted."""
        if not self._repository.attribute_macros:
            return []
        return sorted(frozenset[str]().union(*(self._named(part.file, part.start, part.end) for part in parts)))

    def _named_in(self, file: int, start: int, end: int) -> frozenset[str]:
        return frozenset(self._words.findall(self._repository.files[file].source.text, start, end))
