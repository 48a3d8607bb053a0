"""Chooses the held-out files of a repository, and finds near-duplicates of their definitions in the other files.

A hash of the repository's name and the path decides, so with the same section `[holdout]` a file has the same side in
every phase, dataset and tag. `validating` names two exceptions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from megacpp_assets.compute.shingles import LEAST_RUNS, Copies, Shingles, shingles
from megacpp_assets.contract.recipe.documents import HoldoutRecipe
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

DEFINITION_BYTES: Final = 200
"""The minimum size of a root for the search: shorter ones are often equal by chance."""
RUN_TOKENS: Final = 16
"""If every run of so many tokens of a definition is in training, the definition counts as a verbatim copy."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The numbers of the held-out files. `copies` maps roots of other files (ranges of chunk numbers) that are
    near-duplicates of held-out roots to the place of the held-out root. `copied` has the chunks that make them so: a
    root of many macros is one where a single macro of it is a near-duplicate."""

    files: frozenset[int] = frozenset()
    copies: Mapping[tuple[int, int], str] = field(default_factory=dict)
    copied: frozenset[tuple[int, int]] = frozenset()


NOTHING_HELD = HeldOut()


def hold_out(
    repository: Repository, name: str, recipe: HoldoutRecipe, only_context: Container[str] = frozenset()
) -> HeldOut:
    """Return what is held out of the repository called `name`. Files at the paths `only_context` are never held out."""
    files = held_out_files(repository, name, recipe, only_context)
    found = list(near_copies(repository, files, recipe.near_copy))
    copies = {copy.unit: where(repository, held) for copy, held, _ in found}
    return HeldOut(files, copies, frozenset(part for _, _, parts in found for part in parts))


def runs_of_definition(text: str, size: int) -> Shingles:
    """Return the runs of tokens by which a root of `size` bytes is found in training, or none if it is too short.

    One line below a long comment is too short too: with fewer runs than `LEAST_RUNS` no document is left out for it.
    """
    long_enough = size >= DEFINITION_BYTES and len(shingles(text)) >= LEAST_RUNS
    return shingles(text if long_enough else "", RUN_TOKENS)


def where(repository: Repository, place: PlacedRoot) -> str:
    """Return PATH:OFFSET of a root, in bytes of the commit's file."""
    source = repository.files[place.file].source
    return f"{source.path}:{source.in_blob(place.span.start)}"


def held_out_files(
    repository: Repository, name: str, recipe: HoldoutRecipe, only_context: Container[str] = frozenset()
) -> frozenset[int]:
    """Return the numbers of the held-out files of the repository called `name`, of those that have roots."""
    places = ((repository.files[place.file].source.path, place.file) for place in repository.roots)
    numbers = {path: file for path, file in places if path not in only_context}
    return frozenset(numbers[path] for path in validating(numbers, name, recipe))


def validating(paths: Collection[str], name: str, recipe: HoldoutRecipe) -> frozenset[str]:
    """Return those of `paths`, files of the repository called `name`, that are held out.

    A file is held out if its lot is below the recipe's share, whatever other files exist. All are if the recipe holds
    out the repository, none if the share is 0. If no lot of several files is below the share, the file with the lowest
    lot is held out. If every lot is below it, the file with the highest lot trains. Only in these two cases may another
    file change the side of a file: without them a small repository could have only one side.
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
    """Return the lot of a file, in [0, 1)."""
    digest = hashlib.sha256("\0".join((salt, name, path)).encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def near_copies(
    repository: Repository, held: frozenset[int], share: float
) -> Iterator[tuple[PlacedRoot, PlacedRoot, list[tuple[int, int]]]]:
    """Yield (root of a training file, held-out root, chunks that are alike) for each near-duplicate.

    Two texts are near-duplicates if at least `share` of the runs of tokens of the shorter one are in the other. Parts
    of a class are compared as well as the whole. The chunks are those of which most runs are the held-out root's.
    """
    texts = [(place, text) for place in repository.roots if place.file in held for _, text in _texts(repository, place)]
    runs = [(place, found) for place, text in texts if len(found := shingles(text)) >= LEAST_RUNS]
    copies = Copies([found for _, found in runs], share)
    for place in repository.roots:
        if place.file not in held:
            matches = (copies.in_text(text) for _, text in _texts(repository, place))
            number = next((int(numbers[0]) for numbers in matches if len(numbers)), None)
            if number is not None:
                copied, known = runs[number]
                parts = [part for part, text in _texts(repository, place) if _is_mostly_in(shingles(text), known)]
                is_one = repository.nodes[place.unit[0]].unit == place.unit
                yield place, copied, [place.unit] if is_one else [part for part in parts if part != place.unit]


def _is_mostly_in(runs: Shingles, known: Shingles) -> bool:
    """Return whether more than half of `runs` are `known`. Macros have short endings in common."""
    return 2 * int(np.isin(runs, known).sum()) > len(runs)


def _texts(repository: Repository, place: PlacedRoot) -> list[tuple[tuple[int, int], str]]:
    """Return the chunks and the text of a root, and of each of its chunks if it has several."""
    nodes = repository.nodes
    text = repository.files[place.file].source.text
    ranges = {(nodes[number].char_start, nodes[number].char_end): (number, number + 1) for number in range(*place.unit)}
    ranges.setdefault((place.span.char_start, place.span.char_end), place.unit)
    return [(part, text[start:end]) for (start, end), part in sorted(ranges.items())]
