"""Adds include folders of other repositories' headers, as if they were installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from megacpp_assets.semantic.commands.arguments import include_folder
from megacpp_assets.semantic.commands.infer import infer
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.tree.headers import Paths, spelled


def with_stand_ins(
    units: Sequence[Unit], own: Collection[str], stand_ins: Sequence[str], text_of: Callable[[str], bytes]
) -> list[Unit]:
    """Add include folders of stand-in headers to `units`, for includes that the tree itself does not satisfy.

    Includes of the units and of the stand-in headers count. `own` are the paths of the tree. The folders are searched
    after all others, like those of the system.
    """
    if not stand_ins:
        return list(units)
    known = Paths(own)
    sources = [(unit.path, _directives(spelled([text_of(unit.path)], known))) for unit in units]
    headers = [(path, text_of(path)) for path in stand_ins]
    folders = infer(stand_ins, [*sources, *headers], {}).folders
    after = tuple(include_folder("-isystem", folder) for folder in folders)
    return [replace(unit, arguments=(*unit.arguments, *after)) for unit in units]


def _directives(spellings: Collection[str]) -> bytes:
    return "".join(f"#include <{spelling}>\n" for spelling in sorted(spellings)).encode()
