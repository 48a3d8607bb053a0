"""The licence of a file: which source counts first, and what a list of allowed licences permits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from megacpp_assets.contract.sources.file_policy import NOT_CODE
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.curation.licensing.licences import (
    Licence,
    Licences,
    licence_files,
    named_licence,
    referred_name,
    too_large_licence_files,
)
from megacpp_assets.curation.licensing.policy import LicencePolicy

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
    ("text", "name"),
    [
        ("license information refer to format h", "format h"),
        ("license see the accompanying file license txt for details", "license txt"),
        ("license see elsewhere", ""),
    ],
)
def test_a_head_that_refers_to_another_file_has_the_licence_of_that_file(text: str, name: str) -> None:
    assert referred_name(text, {"format h", "license txt"}) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("software is made available under the terms of the icu license icu 1 8 1 and later", "ICU"),
        ("software is supplied under the terms of the mit license a copy of which is in license txt", "MIT"),
        ("licensed under the zlib license", "Zlib"),
        ("license under the mit license or the terms of the isc license", ""),
        ("license under the terms of the mit license or of the gnu gpl", ""),
        ("license under the terms of the accompanying license", ""),
        ("license all rights reserved", ""),
    ],
)
def test_a_head_that_names_one_licence_has_it(text: str, name: str) -> None:
    assert named_licence(text) == name


def test_a_named_licence_in_a_folder_of_others_code_is_not_the_repositorys() -> None:
    licences = Licences("MIT")
    licences.read(
        "src/decNumber/decNumber.c",
        b"/* All rights reserved. */\n/* Software made available under */\n/* the terms of the ICU License. */\nint a;",
    )
    licences.read("src/main.c", b"/* All rights reserved. */")
    licences.classify("test 1", lambda heads: {})
    found = {path: licences.of(path) for path in ("src/decNumber/decNumber.c", "src/main.c")}
    assert [(each.expression, each.source) for each in found.values()] == [("ICU", "head"), ("MIT", "repository")]


_REFERS = b"/* All rights reserved. For full terms see the included COPYING file. */\nint a;\n"
_OWN = b"/* Licensed under the GPL. */\n"


def test_a_head_that_refers_to_a_name_of_several_files_has_the_licence_of_the_nearest_one() -> None:
    licences = Licences("MIT")
    for path in ("src/a.c", "deps/x/a.c", "deps/y/a.c"):
        licences.read(path, _REFERS)
    licences.read_licence_file("COPYING", b"Permission is hereby granted, free of charge")
    licences.read_licence_file("deps/x/COPYING", b"GNU GENERAL PUBLIC LICENSE\n Version 2")
    licences.read_licence_file("deps/y/LICENSE", b"Boost Software License")
    licences.classify("test 1", lambda heads: {})
    found = {path: licences.of(path)[:2] for path in ("src/a.c", "deps/x/a.c", "deps/y/a.c")}
    assert found == {
        "src/a.c": ("MIT", "head"),
        "deps/x/a.c": ("GPL-2.0-only", "head"),
        "deps/y/a.c": ("BSL-1.0", "directory"),
    }


def test_a_repository_of_unknown_licence_has_that_of_the_first_licence_file_that_is_classified() -> None:
    licences = Licences("NOASSERTION")
    licences.read("a.c", b"int a;\n")
    licences.read_licence_file("COPYING", b"All is said elsewhere.")
    licences.read_licence_file("LICENSE", b"The Eclipse Public License 2.0")
    licences.classify("test 1", lambda heads: {key: "EPL-2.0" for key, text in heads.items() if "eclipse" in text})
    assert licences.of("a.c") == Licence("EPL-2.0", "repository", "LICENSE", "test 1")


def test_a_licence_file_of_ten_megabytes_is_counted_and_not_read() -> None:
    files = [SourceFile("deps/COPYING", "b", 10_000_000, "", False, "MIT", NOT_CODE)]
    assert licence_files(files) == [] and too_large_licence_files(files) == 1


def test_two_licences_in_one_head_are_one_expression_that_both_lists_judge() -> None:
    licences = Licences("NOASSERTION")
    licences.read("a.c", _OWN + b"/* Portions are under the MIT license. */\n")
    licences.classify("test 1", lambda heads: dict.fromkeys(heads, "GPL-2.0-only AND MIT"))
    expression = licences.of("a.c").expression
    assert expression == "GPL-2.0-only AND MIT"
    assert not LicencePolicy(("MIT",), ()).permits(expression) and not LicencePolicy((), ("GPL-*",)).permits(expression)
