"""Which files of a tree are C or C++ sources, in which language, and why the others are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from megacpp_assets.contract import file_policy
from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.repos.fetch import TreeEntry

C_SOURCES = {".c"}
CPP_SOURCES = {".cpp", ".cc", ".cxx", ".c++", ".cp"}
C_OR_CPP_HEADERS = {".h", ".inc"}
CPP_HEADERS = {".hpp", ".hxx", ".hh", ".h++", ".inl", ".ipp", ".tcc"}

_SYMLINK = "120000"
_GITLINK = "160000"


def select(entries: Sequence[TreeEntry], license_id: str) -> list[SourceFile]:
    """Every file of the tree as a `SourceFile`, in the order given; `skipped` says why one is left out.

    A `.h` is C where the repository has more C sources than C++ sources.
    """
    header_language = _header_language(entry.path for entry in entries)
    return [_source_file(entry, header_language, license_id) for entry in entries]


def _header_language(paths: Iterable[str]) -> str:
    suffixes = [PurePosixPath(path).suffix.lower() for path in paths]
    in_c = sum(suffix in C_SOURCES for suffix in suffixes)
    in_cpp = sum(suffix in CPP_SOURCES | CPP_HEADERS for suffix in suffixes)
    return "c" if in_c > in_cpp else "c++"


def _source_file(entry: TreeEntry, header_language: str, license_id: str) -> SourceFile:
    suffix = PurePosixPath(entry.path).suffix.lower()
    header = suffix in C_OR_CPP_HEADERS | CPP_HEADERS
    language = ""
    if suffix in C_SOURCES:
        language = "c"
    elif suffix in CPP_SOURCES | CPP_HEADERS:
        language = "c++"
    elif header:
        language = header_language
    return SourceFile(
        path=entry.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"),
        blob=entry.object_id,
        bytes=entry.bytes,
        language=language,
        header=header,
        license=license_id,
        skipped=_reason(entry, language),
    )


def _reason(entry: TreeEntry, language: str) -> str:
    if entry.mode == _SYMLINK:
        return file_policy.SYMLINK
    if entry.mode == _GITLINK:
        return file_policy.SUBMODULE
    if not language:
        return file_policy.NOT_CODE
    if not _is_plain(entry.path):
        return file_policy.UNSAFE_PATH
    return "" if entry.bytes else file_policy.EMPTY


def _is_plain(path: str) -> bool:
    """Whether `path` can be written below a directory of ours and named in a command without surprise."""
    parts = path.split("/")
    printable = all(character.isprintable() and character not in "\\:" for character in path)
    return printable and len(path) < 1024 and not any(part in {"", ".", ".."} or part[0] == "-" for part in parts)
