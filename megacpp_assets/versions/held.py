"""Definitions of held-out files, in every version of their history: what is nearly one of them does not train.

A definition may move from a held-out file into another one, or the other way. A path alone does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, Shingles, shingles
from megacpp_assets.semantic.documents.held_out import DEFINITION_BYTES
from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.outline.treesitter import syntax_outline
from megacpp_assets.versions.files import FileVersion
from megacpp_assets.versions.syntax import without_macros, without_torn_arms


@dataclass(frozen=True, slots=True)
class Held:
    """Whether a file validates, by its names, and the definitions of those that do.

    `share` is the part of the token runs of the shorter of two texts that makes them near-duplicates.
    """

    validates: Callable[[Sequence[str]], bool]
    copies: Copies
    share: float

    def is_copied(self, names: Sequence[str], text: bytes) -> bool:
        """Whether `text`, of a file with these names that trains, has a near-duplicate of a held-out definition."""
        return not self.validates(names) and bool(
            len(self.copies.held_by_text(text.decode("utf-8", "replace"), self.share))
        )


def held_of(versions: Iterable[FileVersion], validates: Callable[[Sequence[str]], bool], share: float) -> Held | None:
    """The definitions of held-out file `versions`; None if there are none."""
    texts = dict.fromkeys(text for version in versions if not version.reason for text in definitions(version.data))
    found: list[Shingles] = [runs for text in texts if len(runs := shingles(text)) >= LEAST_RUNS]
    return Held(validates, Copies(found), share) if found else None


def definitions(data: bytes) -> Iterator[str]:
    """The functions and classes of a file, by syntax alone. A short one may well be written twice, and is left out."""
    for node in syntax_outline(without_macros(without_torn_arms(data))):
        if node.role in (Role.FUNCTION, Role.CLASS) and node.end - node.start >= DEFINITION_BYTES:
            yield data[node.start : node.end].decode("utf-8", "replace")
