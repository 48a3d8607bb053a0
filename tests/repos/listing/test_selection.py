"""The end of a file's name says whether it is C or C++."""

from __future__ import annotations

import pytest

from megacpp_assets.repos.listing.selection import source_file
from megacpp_assets.repos.tree import TreeEntry


@pytest.mark.parametrize(
    ("path", "language", "header"),
    [
        ("a.cc", "c++", False),
        ("a.c", "c", False),
        ("a.h", "c", True),
        ("a.inc", "c", True),
        ("a.def", "c", True),
        ("a.cu", "c++", False),
        ("a.cuh", "c++", True),
        ("a.ipp", "c++", True),
        ("a.tpp", "c++", True),
        ("a.C", "c++", False),
        ("a.H", "c++", True),
        ("A.CPP", "c++", False),
        ("a.ixx", "c++", False),
        ("a.mm", "", False),
        ("a.py", "", False),
    ],
)
def test_a_file_has_its_language_by_its_name(path: str, language: str, header: bool) -> None:
    found = source_file(TreeEntry("100644", "0" * 40, 5, path), "c", "MIT")
    assert (found.language, found.header, bool(found.skipped)) == (language, header, not language)
