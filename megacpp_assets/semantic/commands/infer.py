"""Infers include folders of a tree without a compile database from the spelling of its includes.

Every spelling that some file of the tree could satisfy is covered, with as few folders as possible. A folder that has
a file with the name of a system header is never chosen, because it would change the meaning of `<time.h>` for all.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from megacpp_assets.semantic.commands.templates import headers_of, stubs_of
from megacpp_assets.semantic.tree.includes import include_spellings
from megacpp_assets.semantic.tree.system_headers import SYSTEM_HEADERS

MAX_FOLDERS = 256
_OF_WINDOWS = re.compile(r"(?:^|[/_-])(?:win|windows|win32|win64|nmake|msvc|vc\d*)(?=[/_-]|$)", re.I)
"""A folder of headers for Windows, where a template of the same header is for all other systems."""
_USUAL = ("include", "src", "inc", "lib")


@dataclass(frozen=True, slots=True)
class Inference:
    """Tree-relative include folders in search order, and header stubs: spelling -> text of the generated header."""

    folders: tuple[str, ...]
    stubs: Mapping[str, str] = field(default_factory=dict)


def infer(paths: Iterable[str], sources: Iterable[tuple[str, bytes]], templates: Mapping[str, str]) -> Inference:
    """Return the inference for a tree.

    `paths` are all files of the tree, `sources` (path, bytes) its C/C++ files, `templates` the texts of header
    templates by path. Equal input, in any order, gives an equal result.
    """
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in sorted(set(paths)):
        by_name[posixpath.basename(path)].append(path)
    wanted = _unresolved(sources, {path for group in by_name.values() for path in group})
    candidates = {spelling: set(_candidates(spelling, by_name)) for spelling in wanted}
    candidates |= _without_windows(candidates, headers_of(templates))
    allowed = _harmless({folder for group in candidates.values() for folder in group}, by_name)
    candidates = {spelling: group & allowed for spelling, group in candidates.items()}
    folders = _cover(wanted, candidates)
    missing = [spelling for spelling, group in sorted(candidates.items()) if not group]
    return Inference(folders, stubs_of(missing, templates, by_name))


def header_stubs(
    paths: Iterable[str], sources: Iterable[tuple[str, bytes]], templates: Mapping[str, str]
) -> Mapping[str, str]:
    """Return only stubs, for a tree whose include folders are known.

    A header of the tree whose name only resembles a spelling does not count, because its folder may not be searched.
    """
    tree = set(paths)
    return stubs_of(sorted(_unresolved(sources, tree)), templates, {posixpath.basename(path) for path in tree})


def _unresolved(sources: Iterable[tuple[str, bytes]], tree: set[str]) -> Counter[str]:
    """Return how many files include each spelling that neither their own folder nor a system header satisfies."""
    wanted: Counter[str] = Counter()
    for path, source in sources:
        folder = posixpath.dirname(path)
        for quoted, spelling in set(include_spellings(source)):
            in_own_folder = quoted and (f"{folder}/{spelling}" if folder else spelling) in tree
            if spelling not in SYSTEM_HEADERS and not in_own_folder:
                wanted[spelling] += 1
    return wanted


def _candidates(spelling: str, by_name: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for path in by_name.get(posixpath.basename(spelling), ()):
        if path == spelling:
            yield "."
        elif path.endswith("/" + spelling):
            yield path[: -len(spelling) - 1]


def _without_windows(candidates: Mapping[str, set[str]], rendered: Container[str]) -> dict[str, set[str]]:
    """Return the candidates of headers that have a template, without folders of headers for Windows."""
    return {
        spelling: {folder for folder in folders if not _OF_WINDOWS.search(folder)}
        for spelling, folders in candidates.items()
        if posixpath.basename(spelling) in rendered
    }


def _harmless(folders: set[str], by_name: Mapping[str, Sequence[str]]) -> set[str]:
    shadowing = {folder for header in SYSTEM_HEADERS for folder in _candidates(header, by_name)}
    return folders - shadowing


def _cover(wanted: Mapping[str, int], candidates: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Greedy set cover: the folder that satisfies most includes comes first. Ties go to usual names, then to shallow
    folders.
    """
    votes: dict[str, set[str]] = defaultdict(set)
    for spelling, group in candidates.items():
        for folder in group:
            votes[folder].add(spelling)
    chosen: list[str] = []
    while votes and len(chosen) < MAX_FOLDERS:
        best = min(votes, key=lambda folder: (-sum(wanted[name] for name in votes[folder]), *_rank(folder)))
        covered = votes.pop(best)
        chosen.append(best)
        votes = {folder: left for folder, names in votes.items() if (left := names - covered)}
    return tuple(chosen)


def _rank(folder: str) -> tuple[bool, int, str]:
    return posixpath.basename(folder) not in _USUAL, folder.count("/"), folder
