"""The synthesized head of a document of a commit, in two styles (seed 002): `// File:` lines, or a Javadoc block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.versions.text.pieces import comment_lines

CHANGES_HEAD: Final = "// === CHANGES ===\n"
FULL_FILE_HEAD: Final = "// === FULL FILE (Post-Commit) ===\n"


def simple_header(commit: Commit | None, change: Change, path: str) -> str:
    """Return `// File:` and, for a commit, facts about the change and its message, as line comments."""
    lines = [f"// File: {path}"]
    if commit is not None:
        lines += [f"// {fact}" for fact in _facts(change)]
        lines += [f"// {line}".rstrip() for line in _message(commit)]
    return "".join(f"{line}\n" for line in lines)


def doxygen_header(commit: Commit | None, change: Change, path: str) -> str:
    """Return `/** @file … @brief … */`. The brief is the subject; the rest of the message follows it."""
    lines = [f" * @file {path}"]
    if commit is not None:
        subject, *body = _message(commit)
        lines.append(f" * @brief {subject}".rstrip())
        lines += [f" * @note {fact}" for fact in _facts(change)]
        lines += [" *", *(f" * {line}".rstrip() for line in body if body)] if body else []
    return "".join(f"{line}\n" for line in ("/**", *lines, " */"))


def _message(commit: Commit) -> list[str]:
    subject = next(comment_lines(commit.subject), "")
    return [subject, *(comment_lines(commit.body) if commit.body else ())]


def _facts(change: Change) -> list[str]:
    facts = {"A": "New file.", "D": "Deleted file.", "R": f"Renamed from {change.old_path}."}
    return [facts[change.status]] if change.status in facts else []


Header = Callable[[Commit | None, Change, str], str]
HEADERS: Final[Mapping[str, Header]] = {"simple": simple_header, "doxygen": doxygen_header}
"""Style, which is the second part of a version's name -> the function that makes its header."""
