"""Files of a repository that are a copy of another project's: their text is context, and no document is made for it.

Known names, a version in a folder's name, or another licence file in the folder tell a copy. A name of the repository
itself tells none: googletest keeps its own sources in `googletest/`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate

VENDORED = "vendored as "
"""How the reason begins why a copied root has no document."""
_VERSIONED = re.compile(r"[a-z][a-z0-9+]*+(?:[-_]+[a-z][a-z0-9+]*)*[-_]v?\d+\.\d+(?:\.\d+)*", re.I)


def vendored_files(
    paths: Sequence[str], projects: Sequence[str], repository: str, licensed: Collection[str] = ()
) -> Mapping[str, str]:
    """Return those of `paths` that are copies, each with the folder or file that is the copy.

    `projects` are shell patterns for names of folders and files, a project's own separated by spaces; one that is meant
    by the name of the `repository` does not count. `licensed` are folders under another licence than the repository's;
    one with half of the files is no copy.
    """
    if not projects:
        return {}
    own = repository.lower()
    foreign = [names for each in projects if not _matches(own, names := each.lower().split())]
    patterns = [pattern for names in foreign for pattern in names]
    below = Counter(part for path in paths for part, _ in _parts(path))
    others = {folder for folder in licensed if 2 * below[folder] < len(paths)}
    found = ((path, _copy(path, patterns, others)) for path in paths)
    return {path: copy for path, copy in found if copy}


def has_version(folder: str) -> bool:
    """Return whether the name of a folder is that of a project with a version, such as `gtest-1.11.0`."""
    return _VERSIONED.fullmatch(folder) is not None


def _copy(path: str, patterns: Sequence[str], licensed: Collection[str]) -> str:
    """Return the outermost part of `path` that is a copy; "" if none is."""
    for part, is_file in _parts(path):
        name = part.rpartition("/")[2].lower()
        versioned = not is_file and has_version(name)
        if versioned or part in licensed or _matches(name, patterns):
            return part
    return ""


def _parts(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the folders of `path`, outermost first, then itself; and whether that is the file."""
    names = path.split("/")
    for number, part in enumerate(accumulate(names, "{}/{}".format), 1):
        yield part, number == len(names)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
