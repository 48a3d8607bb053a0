"""Decides the arguments of each file, and their source: the database, the nearest entry of one, or inference."""

from __future__ import annotations

import os
import posixpath
import re
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.commands.arguments import for_language, include_folder, language_of
from megacpp_assets.semantic.commands.demanded import demanded_macros
from megacpp_assets.semantic.commands.infer import header_stubs, infer
from megacpp_assets.semantic.commands.kernel import kernel_of, kernel_stubs
from megacpp_assets.semantic.commands.stated import stated_standard
from megacpp_assets.semantic.tree.attribute_macros import attribute_macros
from megacpp_assets.semantic.tree.build_files import has_rules, is_template
from megacpp_assets.semantic.tree.folder import WORK_FOLDER
from megacpp_assets.semantic.tree.real_paths import RealPaths

STUB_FOLDER = f"{WORK_FOLDER}/stubs"
_CONFIG = re.compile(r"config\.h(?:pp)?$")
"""A header that sources of autoconf include where HAVE_CONFIG_H is defined."""
_TEMPLATE_BYTES = 1 << 20
_SOURCE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """One file to parse, and its complete arguments without the toolchain's own.

    A fragment is parsed as a part of the file `through`, which includes it; every other file is parsed by itself.
    """

    path: str
    arguments: tuple[str, ...]
    mode: str
    header: bool
    through: str = ""

    @property
    def parsed(self) -> str:
        """The path that is passed to libclang."""
        return self.through or self.path


@dataclass(frozen=True, slots=True)
class Standards:
    """The language standard of files whose arguments name none."""

    c: str = "gnu11"
    cpp: str = "c++17"

    def of(self, language: str) -> str:
        """Return the standard of `language`, "c" or "c++"."""
        return self.c if language == "c" else self.cpp


def plan_units(
    tree: Path, files: Sequence[SourceFile], standards: Standards, entries: Mapping[str, tuple[str, ...]]
) -> list[Unit]:
    """Return a unit for every selected file, sorted by path bytes. Writes stub headers under `tree/.megacpp/stubs`.

    `entries` are those of the tree's compile database; without entries, arguments are inferred. A standard in the
    tree's build rules has priority over `standards`.
    """
    standards = _stated(tree, files, standards)
    selected = sorted(
        (file for file in files if not file.skipped and file.language), key=lambda file: _bytes(file.path)
    )
    if entries:
        nearest, after = _Nearest(entries), _database_stubs(tree, files, selected)
        units = [_from_database(file, entries, nearest, standards) for file in selected]
        # A macro that the command defines, as for a shared library, keeps its value.
        attributes = _attributes(tree, selected)
        return [replace(unit, arguments=(*attributes, *unit.arguments, *after)) for unit in units]
    return list(_inferred(tree, files, selected, standards))


def _stated(tree: Path, files: Sequence[SourceFile], standards: Standards) -> Standards:
    rules = {path: read_source(f"{tree}/{path}", _TEMPLATE_BYTES) for path in _present(tree, files) if has_rules(path)}
    return replace(standards, cpp=stated_standard(rules) or standards.cpp)


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _from_database(
    file: SourceFile, entries: Mapping[str, tuple[str, ...]], nearest: _Nearest, standards: Standards
) -> Unit:
    own = entries.get(file.path)
    arguments = nearest.arguments(file) if own is None else own
    # The `-x` of a neighbour's command line is the language of that source, so it does not count for a header.
    language = file.language if own is None else language_of(arguments) or file.language
    mode = "nearest" if own is None else "database"
    return Unit(file.path, for_language(arguments, language, standards.of(language)), mode, file.header)


class _Nearest:
    """Chooses the arguments of a file in no target: the most common ones among the nearest entries."""

    def __init__(self, entries: Mapping[str, tuple[str, ...]]) -> None:
        self._below: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for path in sorted(entries):
            for folder in _ancestors(path):
                self._below[folder][entries[path]] += 1

    def arguments(self, file: SourceFile) -> tuple[str, ...]:
        for folder in _ancestors(file.path):
            votes = self._below.get(folder)
            if votes:
                return min(votes, key=lambda arguments: (-votes[arguments], arguments))
        return ()


def _ancestors(path: str) -> Iterator[str]:
    while path:
        path = posixpath.dirname(path)
        yield path


def _inferred(
    tree: Path, files: Sequence[SourceFile], selected: Sequence[SourceFile], standards: Standards
) -> Iterator[Unit]:
    present = _present(tree, files)
    kernel = kernel_of(present)
    inference = infer(present, _texts(tree, selected), _templates(tree, present))
    made = kernel_stubs(present, _texts(tree, selected)) if kernel else {}
    is_configured = any(map(_CONFIG.search, inference.stubs))
    folders = (
        *(("-DHAVE_CONFIG_H",) if is_configured else ()),
        *_attributes(tree, selected),
        *(include_folder("-I", folder) for folder in inference.folders),
        *_stub_folder(tree, files, {**made, **inference.stubs}),
    )
    for file in selected:
        first = kernel.arguments(file.path, file.language) if kernel else ()
        demanded = () if file.header else demanded_macros(read_source(f"{tree}/{file.path}"))
        words = (f"-D{name}" for name in demanded)
        arguments = for_language((*first, *words, *folders), file.language, standards.of(file.language))
        yield Unit(file.path, arguments, "inferred", file.header)


def _attributes(tree: Path, selected: Sequence[SourceFile]) -> tuple[str, ...]:
    """Return arguments that define as nothing the macros whose header a build generates."""
    return tuple(f"-D{macro}=" for macro in attribute_macros(text for _, text in _texts(tree, selected)))


def _database_stubs(tree: Path, files: Sequence[SourceFile], selected: Sequence[SourceFile]) -> tuple[str, ...]:
    """Write stubs of the headers that a build would generate; return the argument that makes them found."""
    present = _present(tree, files)
    templates = _templates(tree, present)
    stubs = header_stubs(present, _texts(tree, selected), templates) if templates else {}
    return _stub_folder(tree, files, stubs)


def _present(tree: Path, files: Sequence[SourceFile]) -> list[str]:
    # Files that are not selected may still be included: generated fragments, files over the size limit.
    paths = RealPaths(str(tree))
    return [file.path for file in files if paths.inside(file.path) and os.path.isfile(f"{tree}/{file.path}")]


def _texts(tree: Path, selected: Sequence[SourceFile]) -> Iterator[tuple[str, bytes]]:
    return ((file.path, read_source(f"{tree}/{file.path}")) for file in selected)


def _templates(tree: Path, present: Sequence[str]) -> dict[str, str]:
    return {
        path: read_source(f"{tree}/{path}", _TEMPLATE_BYTES).decode("utf-8", "replace")
        for path in present
        if is_template(path)
    }


def _stub_folder(tree: Path, files: Sequence[SourceFile], stubs: Mapping[str, str]) -> tuple[str, ...]:
    """Write `stubs`; return the argument that has them searched last. Nothing is written if the tree uses our
    folder's name.
    """
    taken = any(file.path.split("/", 1)[0] == WORK_FOLDER for file in files)
    if not stubs or taken or any((tree / folder).is_symlink() for folder in (WORK_FOLDER, STUB_FOLDER)):
        return ()
    _write_stubs(tree / STUB_FOLDER, stubs)
    return (include_folder("-idirafter", STUB_FOLDER),)


def _write_stubs(folder: Path, stubs: Mapping[str, str]) -> None:
    for spelling, text in stubs.items():
        if any(
            above in stubs for above in _ancestors(spelling)
        ):  # the folder of this stub has the path of another stub
            continue
        target = folder / spelling
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def read_source(path: str, limit: int = _SOURCE_BYTES) -> bytes:
    """Return the first `limit` bytes of a regular file without a byte order mark; empty for anything else."""
    if os.path.islink(path) or not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read(limit).removeprefix(BOM_UTF8)
