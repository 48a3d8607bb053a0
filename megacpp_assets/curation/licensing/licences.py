"""The licence of each file: from its own tag, else its own head, else the nearest folder's licence file, else the
repository.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from megacpp_assets.contract.sources.curated import (
    DIRECTORY,
    HEAD,
    NO_SOURCE,
    REPOSITORY,
    SPDX_TAG,
    UNCLASSIFIED,
)
from megacpp_assets.contract.sources.file_policy import NOT_CODE
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.curation.licensing.heads import head_of, licence_head, words_of
from megacpp_assets.repos.licensing.licences import TEXT_BYTES, UNKNOWN, file_licence, repository_licence
from megacpp_assets.repos.licensing.spdx import is_spdx_expression, one_word_licences

_LICENCE_FILE_BYTES = 10 * TEXT_BYTES
"""A larger file is a collection of licences, or an attack. Its folder then gets the licence of the folder above."""
_NAMES = ("license", "licence", "copying", "unlicense")


_LICENCE_NAME = re.compile(r"\b(?:under|of) the (?:(?:terms|conditions|and) )*(?:of the )?([a-z0-9]+) licen[sc]e\b")
_OTHERS = re.compile(r"\b(?:gnu|gpl|lgpl|agpl|gplv[23]|apache|bsd|mozilla|mpl|eclipse|boost|artistic|public domain)\b")
"""Families of licences. A head that speaks of one of these has more than the licence that it names."""
_REFERENCE = re.compile(r"\b(?:refer to|see|found in|in) (?:(?:the|accompanying|included|root|top level|file) )*")
_NAME_WORDS = 4


class Licence(NamedTuple):
    """An SPDX expression or NOASSERTION, its source, its evidence, and the detector that classified it."""

    expression: str
    source: str
    evidence: str = ""
    detector: str = ""


class _Found(NamedTuple):
    """What the text of a file says: an SPDX tag, and the key of its licence head ("" if it has none)."""

    tag: str
    head: str


@dataclass(slots=True)
class Licences:
    """Licences of a repository's files. First `read` every file, then `classify` the heads, then call `of` for each
    file.
    """

    repository: str
    heads: dict[str, str] = field(default_factory=dict)
    """Key -> text of each distinct head and of each licence file."""
    invalid_tags: int = 0
    _root_files: dict[str, str] = field(default_factory=dict)
    """Path -> key of the text, of the licence files at the root."""
    _root_evidence: str = ""
    """The licence file that gives the licence of the repository, if a detector classified it."""
    _found: dict[str, _Found] = field(default_factory=dict)
    _folders: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Folder -> path of its licence file, key of its text, and the expression by marks of well-known texts."""
    _classified: dict[str, str] = field(default_factory=dict)
    _detector: str = ""
    _referring: dict[str, str] = field(default_factory=dict)
    """Head -> words of the name of a licence file of which the repository has several."""

    def read(self, path: str, data: bytes) -> None:
        """Record what the source at `path` says about its licence."""
        tag = file_licence(data)
        if tag and not is_spdx_expression(tag):
            self.invalid_tags += 1
            tag = ""
        head = None if tag else licence_head(data)
        if head is not None:
            self.heads[head.key] = head.text
        self._found[path] = _Found(tag, head.key if head else "")

    def read_licence_file(self, path: str, data: bytes) -> None:
        """Record the licence file at `path`. It counts for the folders below its own. Only the first of a folder
        counts.
        """
        folder, text = posixpath.dirname(path), data[:TEXT_BYTES]
        if not text.strip() or folder in self._folders:
            return
        head = head_of(words_of(text.decode("utf-8", "replace")))
        if folder:
            self.heads[head.key] = head.text
            self._folders[folder] = (path, head.key, repository_licence([text]))
        else:
            self._root_files[path] = head.key
            if self.repository == UNKNOWN:
                self.heads[head.key] = head.text

    def classify(self, detector: str, ask: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Classify every distinct head with `ask` (key -> text to key -> expression). Without a `detector` no head
        is classified.
        """
        self._detector = detector
        self._classified = dict(ask(self.heads)) if detector and self.heads else {}
        if self.repository == UNKNOWN:
            known = ((path, self._classified.get(key, "")) for path, key in self._root_files.items())
            self._root_evidence, self.repository = next((each for each in known if each[1]), ("", UNKNOWN))
        stated = self._stated_licences()
        named = {name: min(found) for name, found in stated.items() if len(found) == 1 and UNKNOWN not in found}
        for key, text in self.heads.items():
            if detector and not self._classified.get(key):
                if expression := named_licence(text):
                    self._classified[key] = expression
                    continue
                name = referred_name(text, stated)
                self._classified[key] = named.get(name, "")
                if name and name not in named:
                    self._referring[key] = name

    def _stated_licences(self) -> dict[str, set[str]]:
        """Words of a file's name -> the licences in the files of that name."""
        stated: dict[str, set[str]] = defaultdict(set)
        for path in self._root_files:
            stated[_name_words(path)].add(self.repository)
        for path, key, marks in self._folders.values():
            stated[_name_words(path)].add(self._classified.get(key) or marks)
        for path, found in self._found.items():
            if expression := found.tag or self._classified.get(found.head, ""):
                stated[_name_words(path)].add(expression)
        return stated

    @property
    def own_heads(self) -> int:
        """The number of files with a licence head of their own and no tag."""
        return sum(bool(found.head) for found in self._found.values())

    @property
    def distinct_heads(self) -> int:
        """The number of distinct licence heads."""
        return len({found.head for found in self._found.values() if found.head})

    def of(self, path: str) -> Licence:
        """Return the licence of the file at `path`, also if the file was not read."""
        tag, head = self._found.get(path, _Found("", ""))
        if tag:
            return Licence(tag, SPDX_TAG)
        if head and (expression := self._classified.get(head, "")):
            return Licence(expression, HEAD, head, self._detector)
        if expression := self._nearest_named(path, self._referring.get(head, "")):
            return Licence(expression, HEAD, head, self._detector)
        unclassified = UNCLASSIFIED if head else ""
        if found := self._folder_of(path):
            return Licence(found[0], DIRECTORY, found[1], unclassified)
        if self._root_evidence:
            return Licence(self.repository, REPOSITORY, self._root_evidence, self._detector)
        source = NO_SOURCE if self.repository == UNKNOWN else REPOSITORY
        return Licence(self.repository, source, head, unclassified)

    def _nearest_named(self, path: str, name: str) -> str:
        """Return the licence of the file of that name nearest to `path`; "" if another licence file is nearer."""
        if found := self._folder_of(path) if name else None:
            return found[0] if _name_words(found[1]) == name else ""
        at_root = any(_name_words(root) == name for root in self._root_files)
        return self.repository if at_root and self.repository != UNKNOWN else ""

    def _folder_of(self, path: str) -> tuple[str, str] | None:
        """Return expression and path of the licence file nearest to `path`, in its folder or above."""
        folder = posixpath.dirname(path)
        while folder:
            if entry := self._folders.get(folder):
                expression = self._classified.get(entry[1]) or entry[2]
                if expression != UNKNOWN:
                    return expression, entry[0]
            folder = posixpath.dirname(folder)
        return None


def named_licence(text: str) -> str:
    """Return the one licence that the words of a head name, as in "under the terms of the icu license"; else ""."""
    names = {match[1] for match in _LICENCE_NAME.finditer(text)}
    return one_word_licences().get(names.pop(), "") if len(names) == 1 and not _OTHERS.search(text) else ""


def referred_name(text: str, names: Container[str]) -> str:
    """Return the words of the name of the file that a head refers to ("refer to format h"); "" if none of `names`."""
    for match in _REFERENCE.finditer(text):
        words = text[match.end() :].split(" ", maxsplit=_NAME_WORDS)[:_NAME_WORDS]
        for count in range(len(words), 0, -1):
            if (name := " ".join(words[:count])) in names:
                return name
    return ""


def _name_words(path: str) -> str:
    return words_of(posixpath.basename(path))


def licence_files(files: Iterable[SourceFile]) -> Sequence[SourceFile]:
    """Return the files whose name says that they hold their folder's licence, in path order, up to 640 KiB."""
    return [file for file in _named(files) if 0 < file.bytes <= _LICENCE_FILE_BYTES]


def too_large_licence_files(files: Iterable[SourceFile]) -> int:
    """Return how many files of such a name are larger, so that they are not read."""
    return sum(file.bytes > _LICENCE_FILE_BYTES for file in _named(files))


def _named(files: Iterable[SourceFile]) -> Iterator[SourceFile]:
    for file in files:
        if posixpath.basename(file.path).lower().startswith(_NAMES) and not file.language and file.skipped == NOT_CODE:
            yield file


def repository_license(files: Iterable[SourceFile], pinned: str) -> str:
    """Return the repository's licence: from its pin, else from the licence file at its root."""
    if pinned != UNKNOWN:
        return pinned
    return next((file.license for file in files if file.skipped), UNKNOWN)
