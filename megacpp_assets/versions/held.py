"""Definitions of held-out files in every version of their history. Near-duplicates of them are left out of training.

A definition may move between a held-out file and another one, so the path of a file is not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, Shingles, shingles
from megacpp_assets.semantic.documents.roots.held_out import DEFINITION_BYTES
from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.outline.unparsed.treesitter import syntax_outline
from megacpp_assets.versions.files import FileVersion
from megacpp_assets.versions.syntax import without_macros, without_torn_arms


@dataclass(frozen=True, slots=True)
class Held:
    """Decides by the names of a file whether it is held out, and has the definitions of held-out files."""

    validates: Callable[[Sequence[str]], bool]
    copies: Copies

    def is_copied(self, names: Sequence[str], text: bytes) -> bool:
        """Return whether `text` has a near-duplicate of a held-out definition; false if the file itself is held out."""
        return not self.validates(names) and len(self.copies.in_text(text.decode("utf-8", "replace"))) > 0


def held_of(versions: Iterable[FileVersion], validates: Callable[[Sequence[str]], bool], share: float) -> Held | None:
    """Return the definitions in held-out `versions` of files, or None if they have no definition.

    `share` is the part of the token runs of the shorter of two texts that makes them near-duplicates.
    """
    texts = dict.fromkeys(text for version in versions if not version.reason for text in definitions(version.data))
    found: list[Shingles] = [runs for text in texts if len(runs := shingles(text)) >= LEAST_RUNS]
    return Held(validates, Copies(found, share)) if found else None


def definitions(data: bytes) -> Iterator[str]:
    """Yield the functions and classes of a file by tree-sitter, without short ones, which may be equal by chance."""
    for node in syntax_outline(without_macros(without_torn_arms(data))):
        if node.role in (Role.FUNCTION, Role.CLASS) and node.end - node.start >= DEFINITION_BYTES:
            yield data[node.start : node.end].decode("utf-8", "replace")
