"""Decides which changes of commits become documents, or names the rule that leaves a change out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.contract.lock.removal import takes
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.curation.benchmarks import Benchmarks
from megacpp_assets.curation.secrets import finds_of, private_keys
from megacpp_assets.versions.files import FileVersion, FileVersions
from megacpp_assets.versions.held import Held
from megacpp_assets.versions.patches import ADDED, REMOVED, Hunk, hunks_of
from megacpp_assets.versions.records import names_of
from megacpp_assets.versions.text.inline import Sides

WHITESPACE: Final = "white space only"
DENIED_SYMBOL: Final = "denied symbol"
DROPPED: Final = "dropped by curated_files"
SECRET: Final = "secret or personal data"
ANSWER: Final = "benchmark answer"
HELD_COPY: Final = "near-duplicate of a held-out definition"
_FUNCTION_LINE: Final = re.compile(rb"^[A-Za-z_$].*", re.MULTILINE)
_NAME_PARTS: Final = re.compile(rb"\w+|[^\w\s]")
_OPERATOR: Final = re.compile(r"(?:.*::)?\s*operator\b(.*)", re.DOTALL)
_LEADING: Final = re.compile(r"\A(?:\w+\s*::\s*)+")
_QUALIFIERS: Final = rb"[\w:\s]{0,200}(?<!\w)"
"""What may stand in front of the last part of a type. Bounded: otherwise a text of `operator` costs its square."""
_OPERATORS: Final = (
    *("+", "-", "*", "/", "%", "^", "&", "|", "~", "!", "=", "<", ">", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|="),
    *("<<", ">>", "<<=", ">>=", "==", "!=", "<=", ">=", "<=>", "&&", "||", "++", "--", ",", "->*", "->"),
)


@dataclass(frozen=True, slots=True)
class Barred:
    """Texts that no document has.

    `removed` are patterns of paths; `dropped` are files that curation dropped at the pinned commit. With
    `without_secrets` no text with a secret or a personal datum is used, and none with `share` of an item of
    `benchmarks`.
    """

    removed: tuple[str, ...] = ()
    dropped: frozenset[str] = frozenset()
    without_secrets: bool = False
    benchmarks: Benchmarks = field(default_factory=Benchmarks)
    share: float = 1.0

    def rule_of(self, names: Sequence[str]) -> str:
        """Return the name of the rule that leaves out the file with these names; "" if none does."""
        if any(takes(self.removed, name) for name in names):
            return file_policy.REMOVED
        return "" if self.dropped.isdisjoint(names) else DROPPED

    def has_secret(self, text: bytes) -> bool:
        """Return whether `text` has a secret that must not be in a document."""
        return self.without_secrets and bool(finds_of(text))

    def has_key(self, file: FileVersion, start: int, end: int) -> bool:
        """Return whether bytes `start` to `end` of `file` have a part of a private key, whose ends may be elsewhere."""
        return self.without_secrets and any(first < end and start < last for first, last in private_keys(file.data))

    def has_answer(self, text: bytes) -> bool:
        """Return whether `text` has an item of a benchmark."""
        return bool(self.benchmarks.names and self.benchmarks.found_in(text.decode("utf-8", "replace"), self.share))


@dataclass(slots=True)
class ChangeRules:
    """Applies the rules of a recipe to the changes of the repository `name`."""

    name: str
    recipe: HistoryRecipe
    files: FileVersions
    barred: Barred = field(default_factory=Barred)
    held: Held | None = None

    def sides_of(self, commit: Commit, change: Change, context: int) -> Sides | str:
        """Return both versions of the file and the hunks between them, or the rule that leaves the change out.

        `context` unchanged lines stand around each change.
        """
        pre, post = (self.files.get(blob) for blob in change.sides)
        if reason := pre.reason or post.reason:
            return reason
        sides = Sides(commit, change, pre, post, hunks_of(pre, post, context))
        return WHITESPACE if change.status in "MR" and _same_words(sides) else sides

    def bars(self, sides: Sides) -> str:
        """Return the rule that leaves out the file or its difference; "" if none does.

        It is `SECRET` if a line of the difference, on either side, has a secret or a part of one, and `DENIED_SYMBOL`
        if the difference, or the line that begins the function around a hunk, has a denied symbol.
        """
        names = names_of(sides.change)
        if rule := self.barred.rule_of(names):
            return rule
        if self.barred.without_secrets and self._shows_secret(sides):
            return SECRET
        denied = self._denied(names)
        texts = (text for hunk in sides.hunks for text in (_heading(sides, hunk), *map(sides.text, hunk)))
        return DENIED_SYMBOL if denied and any(each.search(text) for text in texts for each in denied) else ""

    def _shows_secret(self, sides: Sides) -> bool:
        """Return whether a side of the hunks has a secret. They are read without the marks of a difference."""
        for hunk in sides.hunks:
            before, after = (sides.side(hunk, other) for other in (ADDED, REMOVED))
            if self.barred.has_secret(before) or self.barred.has_secret(after):
                return True
            start = int(sides.pre.starts[hunk[0].pre])
            if before and self.barred.has_key(sides.pre, start, start + len(before)):
                return True
            start = int(sides.post.starts[hunk[0].post])
            if after and self.barred.has_key(sides.post, start, start + len(after)):
                return True
        return False

    def bars_hunks(self, sides: Sides) -> str:
        """Return `ANSWER` if a side of the difference has an item of a benchmark; `HELD_COPY` if one has nearly a
        held-out definition and the file trains; else "".
        """
        if self.held is None and not self.barred.benchmarks.names:
            return ""
        texts = [b"".join(sides.side(hunk, other) for hunk in sides.hunks) for other in (ADDED, REMOVED)]
        if any(map(self.barred.has_answer, texts)):
            return ANSWER
        copied = self.held is not None and any(self.held.is_copied(names_of(sides.change), text) for text in texts)
        return HELD_COPY if copied else ""

    def bars_part(self, names: Sequence[str], file: FileVersion, start: int, end: int) -> str:
        """Return the rule that leaves out bytes `start` to `end` of `file`, which has these names; "" if none does."""
        return SECRET if self.barred.has_key(file, start, end) else self.bars_text(names, file.data[start:end])

    def bars_text(self, names: Sequence[str], text: bytes) -> str:
        """Return the rule that leaves out `text` of the file with these names; "" if none does."""
        rule = self._bars(names, text) or (ANSWER if self.barred.has_answer(text) else "")
        copied = not rule and self.held is not None and self.held.is_copied(names, text)
        return HELD_COPY if copied else rule

    def _bars(self, names: Sequence[str], text: bytes) -> str:
        if rule := self.barred.rule_of(names):
            return rule
        if self.barred.has_secret(text):
            return SECRET
        return DENIED_SYMBOL if self.has_denied_symbol(names, text) else ""

    def has_denied_symbol(self, names: Sequence[str], text: bytes) -> bool:
        """Return whether `text` has a symbol that the recipe denies for the file with these names."""
        return any(symbol.search(text) for symbol in self._denied(names))

    def _denied(self, names: Iterable[str]) -> list[re.Pattern[bytes]]:
        known, found = frozenset(names), []
        for entry in self.recipe.denied_symbols:
            repository, path, symbol = entry.split(":", 2)
            if repository == self.name and path in known:
                found.append(word_of(symbol))
        return found


def word_of(symbol: str) -> re.Pattern[bytes]:
    """Return the pattern that finds the last part of the name `symbol` as a word of source text.

    `P::operator==` and `P::~P` are found as well, with any white space between their parts. `operator=` does not mean
    `operator==`. `P::operator std::string` is found with any qualifiers of the type.
    """
    operator = _OPERATOR.fullmatch(symbol)
    if operator is None:
        name = symbol.rpartition("::")[2]
        return re.compile((b"" if name.startswith("~") else rb"(?<!\w)") + _spaced(name) + rb"(?!\w)")
    name = operator[1].strip()
    if name[:1].isidentifier():
        return re.compile(rb"(?<!\w)operator\b" + _QUALIFIERS + _spaced(_LEADING.sub("", name, count=1)) + rb"(?!\w)")
    sign = "".join(name.split())
    longer = [each.removeprefix(sign) for each in _OPERATORS if each.startswith(sign) and each != sign]
    ending = rb"|".join((rb"\w", *(re.escape(each.encode()) for each in longer)))
    return re.compile(rb"(?<!\w)operator\s*" + _spaced(name) + rb"(?!" + ending + rb")")


def _spaced(name: str) -> bytes:
    """Return the pattern of a name with any white space between its parts."""
    return rb"\s*".join(map(re.escape, _NAME_PARTS.findall(name.encode())))


def _same_words(sides: Sides) -> bool:
    """Return whether both sides of every hunk differ only in white space."""
    return all(_words(sides, hunk, REMOVED) == _words(sides, hunk, ADDED) for hunk in sides.hunks)


def _words(sides: Sides, hunk: Hunk, kind: int) -> bytes:
    return b"".join(b"".join(sides.text(stretch).split()) for stretch in hunk if stretch.kind == kind)


def _heading(sides: Sides, hunk: Hunk) -> bytes:
    """Return the last line before a hunk that begins with a letter, as the first line of a function does; b"" if none.

    Git writes it beside the numbers of the hunk.
    """
    before = sides.pre.data[: int(sides.pre.starts[hunk[0].pre])]
    found: list[bytes] = _FUNCTION_LINE.findall(before)
    return found[-1] if found else b""
