"""Selects the C and C++ sources of a tree, with their language, and says why other files are left out."""

from __future__ import annotations

from dataclasses import dataclass

from megacpp_assets.contract.sources import file_policy, languages
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.repos.tree import GITLINK, TreeEntry

_SYMLINK = "120000"


@dataclass(slots=True)
class LanguageCount:
    """Counts sources by language over all paths of a repository. The counts decide the language of a `.h` file."""

    in_c: int = 0
    in_cpp: int = 0

    def add(self, path: str) -> None:
        """Count `path`."""
        suffix = languages.suffix_of(path)
        self.in_c += suffix in languages.C_SOURCES
        self.in_cpp += suffix in languages.CPP_SOURCES or suffix in languages.CPP_HEADERS

    @property
    def of_headers(self) -> str:
        """Return "c" if there are more C sources than C++ sources, else "c++"."""
        return "c" if self.in_c > self.in_cpp else "c++"


def source_file(entry: TreeEntry, header_language: str, license_id: str) -> SourceFile:
    """Return `entry` as a `SourceFile`. Its `skipped` says why it is left out, or is ""."""
    suffix = languages.suffix_of(entry.path)
    header = suffix in languages.C_OR_CPP_HEADERS | languages.CPP_HEADERS
    language = ""
    if suffix in languages.C_SOURCES:
        language = "c"
    elif suffix in languages.CPP_SOURCES | languages.CPP_HEADERS:
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
    if entry.mode == GITLINK:
        return file_policy.SUBMODULE
    if not language:
        return languages.NEIGHBOURS.get(languages.suffix_of(entry.path), file_policy.NOT_CODE)
    if not _is_plain(entry.path):
        return file_policy.UNSAFE_PATH
    return "" if entry.bytes else file_policy.EMPTY


def _is_plain(path: str) -> bool:
    """Return whether `path` can be written to a folder of ours and passed to a command without surprise."""
    parts = path.split("/")
    printable = all(character.isprintable() and character not in "\\:" for character in path)
    return printable and len(path) < 1024 and not any(part in {"", ".", ".."} or part[0] == "-" for part in parts)
