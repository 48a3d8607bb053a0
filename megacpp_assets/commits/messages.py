"""Removes persons from commit messages: trailers that name people, addresses and handles. `Fixes:` and the like
stay. Keys, passwords, IP addresses and home folders are replaced by text of the same length, as in files.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.curation.secrets import finds_of
from megacpp_assets.storage.git_objects import with_spans_replaced

TRAILER: Final = "trailer"
ADDRESS: Final = "address"
CREDIT: Final = "credit"
HANDLE: Final = "handle"
_PERSON_TRAILER: Final = re.compile(
    r"^\s*(?:[A-Za-z]+(?:-[A-Za-z]+)*-by|thanks-to|cc|from|author|committer|git-svn-id|change-id|piperorigin-revid|"
    r"(?:reviewed|submitted|approved|reported|tested|suggested|requested|found|signed off|co-authored) by)\s*:",
    re.IGNORECASE,
)
"""`Signed-off-by:`, `Reviewed-by:` and the like, and trailers of other systems. `Fixes:` is not among them."""
_CONTINUED: Final = re.compile(r"^[ \t]+\S")
"""Git folds a long trailer over lines that begin with white space."""
_ANY_TRAILER: Final = re.compile(r"^\s*[A-Za-z][A-Za-z-]*:\s")
_NAME: Final = r"(?-i:[A-Z][\w.'\u2019-]*)(?:[ \t]+(?-i:[A-Z][\w.'\u2019-]*)){0,3}"
_ADDRESS: Final = r"[\w.+%-]+(?:@|\s+(?:at|AT)\s+)[\w-]+(?:\.[\w-]+)+"
_NAMED_ADDRESS: Final = re.compile(rf"(?:{_NAME}[ \t]+)?[<(]\s*{_ADDRESS}\s*[>)]|{_ADDRESS}")
_CREDIT: Final = re.compile(
    rf"[(\[]?\b(?:patch|contributed|submitted|reported|suggested|found|thanks|thank you|courtesy|credits?)\s+"
    rf"(?:by|to|from|of|go to)\s+(?:@[\w-]+|{_NAME})[)\]]?",
    re.IGNORECASE,
)
_HANDLE: Final = re.compile(
    r"[(\[]?(?:\bthanks,?\s+|\bby\s+|\bcc\s+)?(?<![\w/.])@[A-Za-z0-9][\w-]{0,38}[)\]]?(?![\w(])", re.IGNORECASE
)
_SPACES: Final = re.compile(r"[ \t]{2,}")
_BLANK_LINES: Final = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class CleanMessage:
    """The subject (one line) and the body of a commit message, without persons. Either may be empty.

    `changed` counts what was removed, by `TRAILER`, `ADDRESS`, `CREDIT` and `HANDLE`, and what was replaced, by the
    rule of `curation.secrets`.
    """

    subject: str
    body: str
    changed: Counter[str] = field(default_factory=Counter)


def clean_message(message: str) -> CleanMessage:
    """Return a commit message without persons and secrets."""
    text, changed = message.replace("\r\n", "\n").replace("\r", "\n"), Counter[str]()
    lines = [_without_persons(line, changed) for line in _without_trailers(text.split("\n"), changed)]
    subject, *others = _without_secrets("\n".join(lines), changed).strip("\n").split("\n")
    return CleanMessage(subject.strip(), _BLANK_LINES.sub("\n\n", "\n".join(others)).strip(), changed)


def _without_trailers(lines: list[str], changed: Counter[str]) -> list[str]:
    """Return the lines that are no trailer of a person, and none that such a trailer is folded over."""
    kept: list[str] = []
    in_trailer = False
    for line in lines:
        if _PERSON_TRAILER.match(line):
            in_trailer = True
            changed[TRAILER] += 1
        elif not (in_trailer and _CONTINUED.match(line) and not _ANY_TRAILER.match(line)):
            in_trailer = False
            kept.append(line)
    return kept


def _without_persons(line: str, changed: Counter[str]) -> str:
    cleaned = line
    for name, pattern in ((ADDRESS, _NAMED_ADDRESS), (CREDIT, _CREDIT), (HANDLE, _HANDLE)):
        cleaned, count = pattern.subn("", cleaned)
        if count:
            changed[name] += count
    return line.rstrip() if cleaned == line else _SPACES.sub(" ", cleaned).strip()


def _without_secrets(text: str, changed: Counter[str]) -> str:
    data = text.encode()
    finds = finds_of(data)
    changed.update(find.rule for find in finds)
    return with_spans_replaced(data, [(find.start, find.end) for find in finds]).decode()
