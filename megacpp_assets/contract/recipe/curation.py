"""Section `[curation]` of a recipe: which files of a repository may become documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key, require_allowed
from megacpp_assets.contract.recipe.ranges import ANY_NUMBER, at_least, between
from megacpp_assets.contract.sources.quality_rules import RULES

NO_DETECTOR: Final = "none"
SCANCODE: Final = "scancode"
DETECTORS: Final = (NO_DETECTOR, SCANCODE)
REPORT: Final = "report"
DROP_EXACT: Final = "drop_exact"
DROP_NEAR: Final = "drop_near"
COPIES: Final = (REPORT, DROP_EXACT, DROP_NEAR)
REPLACE: Final = "replace"
SECRETS: Final = (REPORT, REPLACE)
MASK: Final = "mask"
DROP: Final = "drop"
BENCHMARK_ACTIONS: Final = (REPORT, MASK, DROP)
SHARED_COPY_ACTIONS: Final = (REPORT, DROP)
SCORER_ACTIONS: Final = (REPORT, DROP)
_SCORER_SECONDS: Final = 3600
_SCORER_MEMORY: Final = 64 << 20
SCORER_FILES: Final = "scorer_files"
HASHED_FILES: Final = ("benchmarks", "shared_copies", SCORER_FILES)
"""The keys of lists of files with their hashes."""
HASHED_FILE: Final = re.compile(r"([0-9a-f]{64})  (\S.*)")


@dataclass(frozen=True, slots=True)
class CurationRecipe:
    """Which files may become documents. Every rule is reported for every file; these keys say what a rule drops."""

    license_detector: str = key(
        NO_DETECTOR,
        "Program that names the licence in the first comments of a file. ScanCode runs in a separate process.",
        allowed=DETECTORS,
    )
    licenses_allowed: tuple[str, ...] = key(
        (),
        "Licences to keep: SPDX names, or shell patterns of names. A file without any of them is dropped. Empty "
        "keeps all.",
        allowed="a list of names such as MIT, Apache-2.0 or BSD-*",
    )
    licenses_denied: tuple[str, ...] = key(
        (),
        "Licences to drop: SPDX names, or shell patterns of names. A file is dropped if every alternative of "
        "its licence has a denied licence: MIT OR GPL-2.0 stays if only GPL-* is denied.",
        allowed="a list of names such as GPL-*",
    )
    copies: str = key(
        REPORT,
        "What to do with a file if the repository has another copy of it. One copy always stays.",
        allowed=COPIES,
    )
    near_copy: float = key(
        0.7,
        "Two files are copies if the Jaccard similarity of their token 5-grams is at least this number.",
        allowed=between(0.1, 1),
    )
    shared_copies: tuple[str, ...] = key(
        (),
        "Lists of copies across repositories, as megacpp copies --write writes them.",
        allowed="a list of lines as sha256sum writes them: hash, two spaces, path from the recipe's folder",
    )
    shared_copy_action: str = key(
        DROP,
        "What to do with a file in shared_copies if the copy of another repository stays.",
        allowed=SHARED_COPY_ACTIONS,
    )
    secrets: str = key(
        REPORT,
        "What to do with keys, passwords, e-mail addresses, IP addresses and home folders in files: report them, or "
        'replace them by text of the same length. With "replace", changes of commits that contain a whole secret, '
        "or part of one, are left out.",
        allowed=SECRETS,
    )
    benchmarks: tuple[str, ...] = key(
        (),
        "Sets of benchmark items with which files are compared: JSONL with id, prompt and canonical_solution.",
        allowed="a list of lines as sha256sum writes them: hash, two spaces, path from the recipe's folder",
    )
    benchmark_share: float = key(
        0.6,
        "A file counts as holding an item if it has at least this share of the item's sequences of tokens.",
        allowed=between(0.1, 1),
    )
    benchmark_action: str = key(
        REPORT,
        "What to do with a benchmark item in a file: report it, leave its definitions out of all documents "
        '("mask"), or drop the whole file. With "mask" and "drop", changes of commits with an item are left '
        "out too.",
        allowed=BENCHMARK_ACTIONS,
    )
    quality_rules: tuple[str, ...] = key(
        (), "Quality rules by which files are dropped.", allowed=f"a list of {', '.join(RULES)}"
    )
    scorer: tuple[str, ...] = key(
        (),
        "A program, with its arguments, that gives each file a number. It runs in a separate process, without a "
        'shell. Each line that it reads is a JSON object with "path" and "text"; for each it writes a line with '
        "a number.",
        allowed="a list of texts; empty for none",
    )
    scorer_files: tuple[str, ...] = key(
        (),
        "All files on which a score depends, such as the program and its model. The manifest has their hashes.",
        allowed="a list of lines as sha256sum writes them: hash, two spaces, path from the recipe's folder",
    )
    scorer_action: str = key(REPORT, "What to do with files with a score below least_score.", allowed=SCORER_ACTIONS)
    least_score: float = key(0.0, "scorer_action applies to files with a score below this number.", allowed=ANY_NUMBER)
    scorer_seconds: int = key(
        30, "Longest time for the score of one file.", allowed=between(1, _SCORER_SECONDS), unit="seconds"
    )
    scorer_memory: int = key(8 << 30, "Address space of the scorer.", allowed=at_least(_SCORER_MEMORY), unit="bytes")

    def __post_init__(self) -> None:
        require_allowed(self, "curation")
        for pattern in (*self.licenses_allowed, *self.licenses_denied):
            if not pattern.strip() or pattern != pattern.strip():
                expected = "an SPDX name or a shell pattern of names, such as GPL-*"
                raise SpecError("curation.licenses_allowed or licenses_denied", expected=expected, found=repr(pattern))
        for rule in self.quality_rules:
            if rule not in RULES:
                raise SpecError.unknown("curation.quality_rules", rule, RULES)
        for name in HASHED_FILES:
            for line in getattr(self, name):
                hashed_file(line, name)
        self._require_scorer()

    def _require_scorer(self) -> None:
        if self.scorer and not self.scorer[0]:
            raise SpecError("curation.scorer", expected="a program and its arguments", found="an empty name")
        if bool(self.scorer) != bool(self.scorer_files):
            found = "scorer alone" if self.scorer else "scorer_files alone"
            do = "name every file that decides a score, as sha256sum writes it"
            raise SpecError("curation.scorer and scorer_files", expected="both or neither", found=found, do=do)
        if self.scorer_action == DROP and not self.scorer:
            raise SpecError("curation.scorer_action", expected="a scorer whose scores drop files", found="no scorer")


def hashed_file(line: str, key: str) -> tuple[str, str]:
    """Return (sha256, path) of a file of the list `key`, given as sha256sum writes it; `SpecError` for another line."""
    match = HASHED_FILE.fullmatch(line)
    if match is None:
        do = "write what sha256sum PATH prints"
        raise SpecError(f"curation.{key}", expected="a sha256, two spaces and a path", found=repr(line), do=do)
    return match[1], match[2]
