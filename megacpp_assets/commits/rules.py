"""The rules that leave out commits and paths of a history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

MERGE: Final = "merge"
PARENT_MISSING: Final = "parent not fetched"
DENIED: Final = "denied commit"
MASS_CHANGE: Final = "mass change"
NO_CODE: Final = "no C or C++ change left"
SUBJECTS: Final = {
    "version bump": re.compile(
        r"^(?:(?:bump|update|set|increment|change|prepare|increase)\b.{0,30}\bversion\b|version\b|(?:release|bump)\b.{0,20}\d"
        r"|v?\d+(?:\.\d+)+\W*$|prepare\b.{0,20}\brelease\b)",
        re.IGNORECASE,
    ),
    "reformatting": re.compile(
        r"clang[- ]?format|\bre-?format|\bwhite-?space\b|\b(?:re-?)?indent(?:ation)?\b"
        r"|\b(?:apply|run|fix|update)\b.{0,12}\bformatting\b|\btabs? (?:to|with|->) spaces?\b",
        re.IGNORECASE,
    ),
    "submodule update": re.compile(
        r"\b(?:update|bump|sync|move)\b.{0,40}\bsubmodules?\b|\bsubmodules? update", re.IGNORECASE
    ),
    "generated commit": re.compile(r"\bauto-?(?:matically )?generated?\b|\bre-?generate", re.IGNORECASE),
    "comment typo": re.compile(r"\btypos?\b.{0,30}\bcomments?\b|\bcomments?\b.{0,30}\btypos?\b", re.IGNORECASE),
}
"""Rule -> pattern of the subjects that it leaves out."""

VENDORED_PATH: Final = "vendored path"
GENERATED_PATH: Final = "generated path"
OTHER_PATH: Final = "outside the recipe's paths"
_VENDORED_PARTS: Final = frozenset(
    {"third_party", "thirdparty", "third-party", "3rdparty", "3rd_party", "vendor", "vendored", "external", "externals",
     "extern", "deps", "node_modules", "bundled"}
)  # fmt: skip
_TEST_PARTS: Final = frozenset({"test", "tests", "testing", "unittest", "unittests"})
_TEST_LIBRARIES: Final = frozenset({"gtest", "gmock", "googletest", "googlemock", "catch", "catch2", "doctest"})
"""Folders that are copies of a test library if they stand directly in a folder of `_TEST_PARTS`, as in fmt."""
_GENERATED_PARTS: Final = frozenset({"generated", "gen", "autogen"})
_GENERATED_NAMES: Final = re.compile(
    r"\.pb\.(?:h|cc)$|\.pb-c\.[hc]$|^moc_|^ui_.*\.h$|\.generated\.|_generated\.|\.tab\.[hc]+$"
    r"|^catch\.hpp$|^catch_amalgamated\.|^doctest\.h$",
    re.IGNORECASE,
)
"""The last three are whole test libraries in one file, which a script of their project writes and others copy."""


def rule_of_subject(subject: str) -> str:
    """Return the name of the rule that leaves out a commit with this subject; "" if none does."""
    return next((name for name, pattern in SUBJECTS.items() if pattern.search(subject)), "")


def rule_of_path(path: str, wanted: Sequence[str]) -> str:
    """Return the name of the rule that leaves out the file at `path`; "" if none does. `wanted` are globs over whole
    paths.
    """
    if wanted and not any(fnmatchcase(path, glob) for glob in wanted):
        return OTHER_PATH
    *folders, name = (part.lower() for part in PurePosixPath(path).parts)
    copied = any(outer in _TEST_PARTS and inner in _TEST_LIBRARIES for outer, inner in pairwise(folders))
    if copied or not _VENDORED_PARTS.isdisjoint(folders):
        return VENDORED_PATH
    built = any(folder.startswith("cmake-build") for folder in folders)
    if built or not _GENERATED_PARTS.isdisjoint(folders) or _GENERATED_NAMES.search(name):
        return GENERATED_PATH
    return ""
