"""The labelled finds: records of real libraries that show no find, and how they are counted."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import _labelled_finds as bench
import pytest

from tests.repos.git_tree import git, make_repository

RIGHT, WRONG, LOST = (
    "// by jane@corp-mail.com",
    'open("/home/jdoe/notes.txt");',
    "// by someone@example.com",
)


def test_there_are_at_least_300_records_and_none_shows_what_was_found() -> None:
    records = bench.labels()
    assert len(set(records)) == len(records) >= 300
    for record in records:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", record.library)
        assert re.fullmatch(r"[0-9a-f]{64}", record.line_sha256)
        assert record.right in ("yes", "no") and record.set in ("first", "later", "last")
        assert "@" not in record.path and record.rule
    assert min(Counter(record.set for record in records).values()) >= 50


def test_finds_are_counted_by_rule_and_a_library_that_is_not_there_is_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "owner+name"
    make_repository(folder, {"a.c": f"int a;\n  {RIGHT}\n{WRONG}\n{LOST}\n".encode()})
    commit = git(folder, "rev-parse", "HEAD")
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", str(tmp_path / "{owner}+{name}" / ".git"))

    def record(rule: str, line: str, right: str, library: str = "owner/name") -> bench.Label:
        return bench.Label(
            f"{library}@{commit}", "a.c", rule, hashlib.sha256(line.encode()).hexdigest(), right, "first"
        )

    records = [
        record("email", RIGHT, "yes"),
        record("email", LOST, "yes"),
        record("home_folder", WRONG, "no"),
        record("email", RIGHT, "yes", "owner/other"),
    ]
    counts, unread = bench.judged(records)
    assert unread == 1
    assert counts == {"email": bench.Counted(2, 0, 1, 0), "home_folder": bench.Counted(0, 1, 0, 1)}
    assert (counts["email"].precision, counts["home_folder"].precision) == (1, 0)
