"""Which files of a repository validate, and which definitions of the others are near copies of theirs.

A file's side is a hash of the repository's name and its path: the same in every phase, dataset and tag.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, Shingles, shingles
from megacpp_assets.contract.recipe.documents import HoldoutRecipe
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

DEFINITION_BYTES: Final = 200
"""A shorter root may well be written twice."""
RUN_TOKENS: Final = 16
"""A definition of which every run of so many tokens stands in training stands there verbatim, to all intents."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The files that validate, and the other files' roots (ranges of chunk numbers) that are near copies of theirs,
    each with where that stands."""

    files: frozenset[int] = frozenset()
    copies: Mapping[tuple[int, int], str] = field(default_factory=dict)


NOTHING_HELD = HeldOut()


def hold_out(
    repository: Repository, name: str, recipe: HoldoutRecipe, vendored: Container[str] = frozenset()
) -> HeldOut:
    """What of the repository called `name` validates. The paths `vendored` are copies of others' files and do not."""
    files = held_out_files(repository, name, recipe, vendored)
    pairs = near_copies(repository, files, recipe.near_copy)
    return HeldOut(files, {copy.unit: where(repository, held) for copy, held in pairs})


def runs_of_definition(text: str, size: int) -> Shingles:
    """The runs by which a root of `size` bytes is found in training; none if it is too short to be told from chance.

    One line below a long comment is too short: by `LEAST_RUNS` no document stays out of training for it either.
    """
    long_enough = size >= DEFINITION_BYTES and len(shingles(text)) >= LEAST_RUNS
    return shingles(text if long_enough else "", RUN_TOKENS)


def where(repository: Repository, place: PlacedRoot) -> str:
    """The path and the offset of a root."""
    source = repository.files[place.file].source
    return f"{source.path}:{source.in_blob(place.span.start)}"


def held_out_files(
    repository: Repository, name: str, recipe: HoldoutRecipe, vendored: Container[str] = frozenset()
) -> frozenset[int]:
    """The numbers of the files of the repository called `name` that validate, of those with roots that others lack."""
    places = ((repository.files[place.file].source.path, place.file) for place in repository.roots)
    numbers = {path: file for path, file in places if path not in vendored}
    return frozenset(numbers[path] for path in validating(numbers, name, recipe))


def validating(paths: Collection[str], name: str, recipe: HoldoutRecipe) -> frozenset[str]:
    """Those of `paths`, files of the repository called `name`, that validate.

    Those whose lot is below the recipe's share, whatever other files exist; all where the recipe holds out the
    repository, none where its share is 0. Where no lot of several files is below the share, the file with the lowest
    lot validates. Where every lot is below it, the file with the highest lot trains. No rule that asks each path alone
    leaves every small repository both sides; in these two cases a later file may change the side of another.
    """
    if name in recipe.repositories:
        return frozenset(paths)
    if recipe.share == 0:
        return frozenset()
    lots = {path: draw(name, path, recipe.salt) for path in sorted(paths)}
    chosen = sum(lot < recipe.share for lot in lots.values())
    ascending = sorted(lots, key=lambda path: lots[path])
    return frozenset(ascending[: min(max(chosen, 1), len(lots) - 1)] if lots else ())


def draw(name: str, path: str, salt: str) -> float:
    """A file's lot in [0, 1)."""
    digest = hashlib.sha256("\0".join((salt, name, path)).encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def near_copies(repository: Repository, held: frozenset[int], share: float) -> Iterator[tuple[PlacedRoot, PlacedRoot]]:
    """Roots of files that train with the root of a held-out file of which each is a near-duplicate: of the shorter one
    of the two, at least `share` of the runs of tokens are in the other; parts of a class count as well as the whole."""
    texts = [(place, text) for place in repository.roots if place.file in held for text in _texts(repository, place)]
    runs = [(place, found) for place, text in texts if len(found := shingles(text)) >= LEAST_RUNS]
    copies = Copies([found for _, found in runs])
    for place in repository.roots:
        if place.file not in held:
            number = _first(copies, _texts(repository, place), share)
            if number is not None:
                yield place, runs[number][0]


def _first(copies: Copies, texts: Sequence[str], share: float) -> int | None:
    for text in texts:
        if len(numbers := copies.held_by_text(text, share)):
            return int(numbers[0])
    return None


def _texts(repository: Repository, place: PlacedRoot) -> list[str]:
    """The text of a root, and of each of its chunks if it has several."""
    nodes = repository.nodes
    text = repository.files[place.file].source.text
    ranges = {(nodes[number].char_start, nodes[number].char_end) for number in range(*place.unit)}
    ranges.add((place.span.char_start, place.span.char_end))
    return [text[start:end] for start, end in sorted(ranges)]
