"""Removes persons from commit messages: trailers that name people, addresses and handles. `Fixes:` and the like
stay.
"""

from __future__ import annotations

import re
from typing import Final

_PERSON_TRAILER: Final = re.compile(
    r"^\s*(?:[A-Za-z]+(?:-[A-Za-z]+)*-by|cc|from|author|committer|git-svn-id|change-id|piperorigin-revid)\s*:",
    re.IGNORECASE,
)
"""`Signed-off-by:`, `Reviewed-by:` and the like, and trailers of other systems. `Fixes:` is not among them."""
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


def clean_message(message: str) -> tuple[str, str]:
    """Return the subject (one line) and the body of a commit message, without persons. Either may be empty."""
    text = message.replace("\r\n", "\n").replace("\r", "\n")
    kept = [line for line in text.split("\n") if not _PERSON_TRAILER.match(line)]
    subject, *others = "\n".join(map(_without_persons, kept)).strip("\n").split("\n")
    body = _BLANK_LINES.sub("\n\n", "\n".join(others)).strip()
    return subject.strip(), body


def _without_persons(line: str) -> str:
    cleaned = line
    for pattern in (_NAMED_ADDRESS, _CREDIT, _HANDLE):
        cleaned = pattern.sub("", cleaned)
    return line.rstrip() if cleaned == line else _SPACES.sub(" ", cleaned).strip()
