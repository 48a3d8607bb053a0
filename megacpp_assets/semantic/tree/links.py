"""Symbolic links of a commit for the parser: what a link names inside the tree is written under the link's path too.

No link is ever made, and none is followed outside the tree: a second name is a hard link of our own copy, so that
`#pragma once` holds over both names. Documents come from the file's own path alone.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.tree.folder import Folder, is_plain

_TARGET_BYTES = 4096
_HOPS = 8
"""Links that lead to links are followed so often."""
_MOST_NAMES = 20_000
"""So many second names a tree may have; a link to the root doubles it."""
_FILE_BYTES = 64 << 20


def write_linked(folder: Folder, files: Sequence[SourceFile], written: Collection[str]) -> list[SourceFile]:
    """Write what the links among `files` name, below `folder`, which has the paths `written`: the files under their
    second names. A link that leads outside, nowhere or in a circle gives nothing."""
    regular = {file.path: file for file in files if file.skipped not in (file_policy.SYMLINK, file_policy.SUBMODULE)}
    links = [file for file in files if file.skipped == file_policy.SYMLINK and is_plain(file.path)]
    targets = {link.path: target for link in links if (target := _target(folder, link)) is not None}
    below = _by_folder(written) if targets else {}
    found: list[SourceFile] = []
    for link in sorted(targets, key=str.encode):
        target = _resolved(link, targets)
        if target in regular:
            found += _write(folder, regular[target], link, target in written)
        for path in below.get(target, ()):
            if len(found) < _MOST_NAMES:
                found += _write(folder, regular[path], f"{link}{path.removeprefix(target)}", True)
    return found


def _target(folder: Folder, link: SourceFile) -> str | None:
    """Return the tree-relative path that a link names, or None where that is outside the tree."""
    if link.bytes > _TARGET_BYTES:
        return None
    named = folder.blobs.read(link.blob).decode("utf-8", "surrogateescape")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(link.path), named))
    return path if is_plain(path) else None


def _resolved(link: str, targets: Mapping[str, str]) -> str:
    target = targets[link]
    for _ in range(_HOPS):
        if target not in targets:
            return target
        target = targets[target]
    return ""


def _by_folder(paths: Collection[str]) -> Mapping[str, list[str]]:
    """Return the paths below each folder, in their order."""
    below: dict[str, list[str]] = defaultdict(list)
    for path in sorted(paths, key=str.encode):
        above = posixpath.dirname(path)
        while above:
            below[above].append(path)
            above = posixpath.dirname(above)
    return below


def _write(folder: Folder, file: SourceFile, name: str, is_written: bool) -> Iterator[SourceFile]:
    """Yield `file` under its second name, unless something else has that."""
    if not is_written and (file.bytes > _FILE_BYTES or folder.lacks_room(file)):
        return
    failed = folder.link(file.path, name) if is_written else folder.write(name, folder.blobs.read(file.blob))
    if not failed:
        yield replace(file, path=name, skipped=file_policy.SYMLINK)
