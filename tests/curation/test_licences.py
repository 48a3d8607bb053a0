"""The licence of a file: which source counts first, and what a list of allowed licences permits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from megacpp_assets.curation.licence_policy import LicencePolicy
from megacpp_assets.curation.licences import Licence, Licences, referred_licence

_HEAD = b"/* Licensed under the GNU General Public License version 2 */\nint x;\n"
_MIT = b"Permission is hereby granted, free of charge, to any person"


def _classified(heads: Mapping[str, str]) -> dict[str, str]:
    return {key: "GPL-2.0-only" if "general public" in text else "" for key, text in heads.items()}


def _licences(detector: str = "test 1") -> Licences:
    licences = Licences("Apache-2.0")
    licences.read_licence_file("third_party/LICENSE", _MIT)
    licences.read("src/tag.cc", b"// SPDX-License-Identifier: BSL-1.0 OR MIT\n")
    licences.read("src/wrong.cc", b"// SPDX-License-Identifier: NoSuchLicence\n")
    licences.read("third_party/zlib/copied.c", _HEAD)
    licences.read("third_party/zlib/plain.c", b"int y;\n")
    licences.read("src/plain.cc", b"int z;\n")
    licences.classify(detector, _classified)
    return licences


def test_a_tag_comes_before_a_head_before_a_folder_before_the_repository() -> None:
    licences = _licences()
    assert licences.of("src/tag.cc") == Licence("BSL-1.0 OR MIT", "spdx-tag")
    found = licences.of("third_party/zlib/copied.c")
    assert (found.expression, found.source, found.detector) == ("GPL-2.0-only", "head", "test 1") and found.evidence
    assert licences.of("third_party/zlib/plain.c") == Licence("MIT", "directory", "third_party/LICENSE")
    assert licences.of("src/plain.cc") == Licence("Apache-2.0", "repository")
    assert Licences("NOASSERTION").of("a.cc") == Licence("NOASSERTION", "none")


def test_an_invalid_tag_is_counted_and_does_not_count() -> None:
    licences = _licences()
    assert licences.invalid_tags == 1
    assert licences.of("src/wrong.cc").expression == "Apache-2.0"


def test_a_head_that_nothing_classifies_is_recorded_as_unclassified() -> None:
    licences = _licences(detector="")
    assert licences.of("third_party/zlib/copied.c") == Licence(
        "MIT", "directory", "third_party/LICENSE", "unclassified"
    )
    assert (licences.own_heads, licences.distinct_heads) == (2, 2)  # the invalid tag is a head too


@pytest.mark.parametrize(
    ("expression", "allowed", "denied", "permitted"),
    [
        ("MIT", (), (), True),
        ("MIT", ("Apache-*",), (), False),
        ("GPL-2.0-only OR MIT", (), ("GPL-*",), True),
        ("GPL-2.0-only AND MIT", (), ("GPL-*",), False),
        ("MIT AND (GPL-2.0-only OR Zlib)", ("MIT", "Zlib"), (), True),
        ("Apache-2.0 WITH LLVM-exception", ("Apache-2.0",), (), True),
        ("GPL-2.0-only WITH Linux-syscall-note", (), ("GPL-*",), False),
        ("GPL-2.0-only WITH Linux-syscall-note", ("GPL-2.0-only WITH *",), ("GPL-*",), True),
        ("GPL-2.0-only WITH Linux-syscall-note", (), ("GPL-2.0-only WITH *",), False),
        ("NOASSERTION", ("MIT",), (), False),
        ("NOASSERTION", (), (), True),
    ],
)
def test_lists_are_over_expressions(
    expression: str, allowed: tuple[str, ...], denied: tuple[str, ...], permitted: bool
) -> None:
    assert LicencePolicy(allowed, denied).permits(expression) is permitted


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("license information refer to format h", "MIT"),
        ("license see the accompanying file license txt for details", "Apache-2.0"),
        ("license see elsewhere", ""),
    ],
)
def test_a_head_that_refers_to_another_file_has_the_licence_of_that_file(text: str, expression: str) -> None:
    assert referred_licence(text, {"format h": "MIT", "license txt": "Apache-2.0"}) == expression
