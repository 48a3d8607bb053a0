"""Selects the files that a commit's windows need in addition to the changed ones.

They are likely definitions of the callees of the targets, and likely callers of the targets: the nearest first, up to a
limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import PurePosixPath
from typing import NamedTuple

from megacpp_assets.contract.sources.languages import C_SOURCES, CPP_SOURCES, suffix_of
from megacpp_assets.resolved.mentions import TreeIdentifiers
from megacpp_assets.windows.window import shared_folders

_SOURCES = C_SOURCES | CPP_SOURCES


class Wanted(NamedTuple):
    """A target: its file, its name, and whether it is a constructor.

    `undefined` has (name, declaring file) of each callee that its unit does not define.
    """

    path: str
    name: str
    constructs: bool
    undefined: Sequence[tuple[str, str]]


def demanded(
    targets: Iterable[Wanted],
    mentions: TreeIdentifiers,
    text_of: Callable[[str], bytes],
    known: Collection[str],
    most: int,
) -> list[str]:
    """Return at most `most` files that are not `known`: the next definition and the next caller of each target in turn.

    `text_of` returns the text of a file of the tree.
    """
    lists = [_alternating(target, mentions, text_of) for target in targets]
    in_turn = (path for turn in zip_longest(*lists) for path in turn if path is not None)
    fresh = (path for path in dict.fromkeys(in_turn) if path not in known)
    return [path for path, _ in zip(fresh, range(most), strict=False)]


def _alternating(target: Wanted, mentions: TreeIdentifiers, text_of: Callable[[str], bytes]) -> Iterator[str]:
    pairs = zip_longest(_definitions(target, mentions), _callers(target, mentions, text_of))
    return (path for path in chain.from_iterable(pairs) if path is not None)


def _definitions(target: Wanted, mentions: TreeIdentifiers) -> Iterator[str]:
    """Yield sources that may define the callees of the target, those with the name of the declaring file first."""
    for name, declared in target.undefined:
        stem = PurePosixPath(declared).stem
        sources = [path for path in mentions.of(name) if suffix_of(path) in _SOURCES and path != declared]
        yield from sorted(sources, key=lambda path: (PurePosixPath(path).stem != stem, *_farness(path, declared)))[:2]


def _callers(target: Wanted, mentions: TreeIdentifiers, text_of: Callable[[str], bytes]) -> Iterator[str]:
    """Yield files in which the name is followed by arguments. A constructor needs none, as in `Box box;`."""
    found = sorted(mentions.of(target.name), key=lambda path: _farness(path, target.path))
    called = re.compile(rb"\b" + target.name.encode() + rb"\s*[(<{]")
    return (path for path in found if target.constructs or called.search(text_of(path)))


def _farness(path: str, origin: str) -> tuple[int, bytes]:
    return -shared_folders(path, origin), path.encode("utf-8", "surrogateescape")
