"""Licences that a person gives are SPDX expressions, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.repos.catalogue import SHIPPED, load_catalogue
from megacpp_assets.repos.licensing.spdx import licence_addresses, spdx_expression


@pytest.mark.parametrize(
    "text", ["MIT", "Apache-2.0 OR (MIT AND BSL-1.0)", "GPL-2.0+", "LicenseRef-ours", "NOASSERTION"]
)
def test_an_expression_is_taken_as_it_is(text: str) -> None:
    assert spdx_expression(text, "--license") == text


def test_every_licence_of_the_shipped_catalogues_is_an_expression(tmp_path: Path) -> None:
    for profile in SHIPPED:
        for entry in load_catalogue(profile, tmp_path).values():
            assert spdx_expression(entry.license, entry.name) == entry.license


@pytest.mark.parametrize(
    "text",
    ["", "Foo", "the MIT license", "MIT AND", "MIT WITH MIT", "()", "MIT\nOR BSL-1.0", "(" * 499, "x" * 501, "\x1b[2J"],
)  # fmt: skip
def test_anything_else_is_rejected_in_a_sentence(text: str) -> None:
    with pytest.raises(SpecError, match=r"^--license; expected an SPDX licence expression.*; found .*; what to do: "):
        spdx_expression(text, "--license")


@given(st.lists(st.sampled_from(["MIT", "Foo", "AND", "OR", "WITH", "(", ")", "+", "LLVM-exception", "/", ","])))
def test_no_row_of_words_ends_in_another_error(words: list[str]) -> None:
    try:
        spdx_expression(" ".join(words), "--license")
    except SpecError:
        pass


@pytest.mark.parametrize(
    ("expression", "addresses"),
    [
        ("MIT", ["https://spdx.org/licenses/MIT"]),
        (
            "Apache-2.0 WITH LLVM-exception OR mit",
            [f"https://spdx.org/licenses/{name}" for name in ("Apache-2.0", "LLVM-exception", "MIT")],
        ),
        ("LicenseRef-mine AND BSL-1.0", ["LicenseRef-mine", "https://spdx.org/licenses/BSL-1.0"]),
        ("<b>MIT", ["<b>MIT"]),
        ("NOASSERTION", ["NOASSERTION"]),
    ],
)
def test_each_licence_has_its_address_in_the_list(expression: str, addresses: list[str]) -> None:
    assert licence_addresses(expression) == addresses
