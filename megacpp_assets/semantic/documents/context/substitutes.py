"""What a repository declares in place of a standard header. Documents include the header instead."""

from __future__ import annotations

import re

from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.words import without_comments
from megacpp_assets.semantic.documents.standard_names import GLOBAL, IN_C
from megacpp_assets.semantic.graph.repository import Repository

_CONDITIONAL = ("typedef", "func_body", "func_sig")
"""The kinds of chunks that may replace what a standard header declares."""
_AHEAD = re.compile(r"\s*(?:template\s*<[^{};]*>\s*)?(?:class|struct|union)\s+(?>(?:\w+\s+){0,3})\w+\s*;\s*")
"""A class that is only declared, and no specialization of a template."""


class Substitutes:
    """Knows the chunks of one repository that replace what a standard header declares."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.has = recent(self._has)
        """Whether a chunk is such a substitute."""

    def _has(self, number: int) -> bool:
        return self._is_conditional(number) or self._is_in_std(number)

    def _is_conditional(self, number: int) -> bool:
        """Return whether chunk `number` is a typedef or a function with a standard name under a condition.

        In most trees the condition is about compilers without the header.
        """
        node = self._repository.nodes[number]
        is_standard = node.chunk.kind in _CONDITIONAL and (node.chunk.name in IN_C or node.chunk.name in GLOBAL)
        return is_standard and bool(self._repository.directives.around(node.file, node.chunk.start))

    def _is_in_std(self, number: int) -> bool:
        """Return whether chunk `number` is a typedef or a class of `std` that is only declared: a header does so where
        it includes no header of the standard library.
        """
        spaces = self._repository.root_around(number).spaces
        if not spaces or spaces[0].name != "std":
            return False
        node = self._repository.nodes[number]
        text = self._repository.files[node.file].source.text[node.char_start : node.char_end]
        return node.chunk.kind == "typedef" or _AHEAD.fullmatch(without_comments(text)) is not None
