"""Section `[curation]` of a recipe: which files of a repository may become documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key
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


@dataclass(frozen=True, slots=True)
class CurationRecipe:
    """Which files may become documents: every rule is reported for every file, and what a rule drops is named here."""

    license_detector: str = key(
        NO_DETECTOR,
        "What classifies the licence heads of files; ScanCode runs in a process of its own.",
        allowed=DETECTORS,
    )
    licenses_allowed: tuple[str, ...] = key(
        (),
        "SPDX names, or shell patterns of names; a file under no such licence is dropped. Empty allows all.",
        allowed="a list of names such as MIT, Apache-2.0 or BSD-*",
    )
    licenses_denied: tuple[str, ...] = key(
        (),
        "SPDX names, or shell patterns of names; a file that cannot be used without such a licence is dropped.",
        allowed="a list of names such as GPL-*",
    )
    copies: str = key(
        REPORT,
        "What becomes of files of which the repository has another copy; one copy always stays.",
        allowed=COPIES,
    )
    near_copy: float = key(
        0.7, "Jaccard similarity of token 5-grams from which two files are copies.", allowed="0.1 to 1"
    )
    secrets: str = key(
        REPORT,
        "What becomes of keys, passwords, e-mail and IP addresses and home folders in files: they are reported, or "
        "replaced by text of the same length.",
        allowed=SECRETS,
    )
    quality_rules: tuple[str, ...] = key(
        (), "Quality rules by which files are dropped.", allowed=f"a list of {', '.join(RULES)}"
    )

    def __post_init__(self) -> None:
        for name, words in (("license_detector", DETECTORS), ("copies", COPIES), ("secrets", SECRETS)):
            if getattr(self, name) not in words:
                expected = f"one of {', '.join(words)}"
                raise SpecError(f"curation.{name}", expected=expected, found=repr(getattr(self, name)))
        if not 0.1 <= self.near_copy <= 1:
            raise SpecError("curation.near_copy", expected="0.1 to 1", found=self.near_copy)
        for name in ("licenses_allowed", "licenses_denied"):
            for pattern in getattr(self, name):
                if not pattern.strip() or pattern != pattern.strip():
                    expected = "an SPDX name or a shell pattern of names, such as GPL-*"
                    raise SpecError(f"curation.{name}", expected=expected, found=repr(pattern))
        for name in self.quality_rules:
            if name not in RULES:
                expected = f"one of {', '.join(RULES)}"
                raise SpecError("curation.quality_rules", expected=expected, found=repr(name))
