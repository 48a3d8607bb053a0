"""Tests of the manifest: one byte form, read back as written, refused when it is not ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import FileEntry, InputRef, Manifest

_TEXT = st.text(max_size=12)
_SHA = st.text("0123456789abcdef", min_size=64, max_size=64)
_FACTS = st.dictionaries(
    _TEXT,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | _TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
_ENTRIES = st.lists(
    st.builds(FileEntry, _TEXT, st.integers(0, 2**40), _SHA, st.none() | st.integers(0, 10**9)), max_size=4
)
_INPUTS = st.lists(st.builds(InputRef, _TEXT, _SHA), max_size=3)
MANIFESTS = st.builds(Manifest, _TEXT, _TEXT, _SHA, _FACTS, _INPUTS.map(tuple), _ENTRIES.map(tuple), _FACTS)


@given(MANIFESTS)
def test_a_manifest_reads_back_as_written_with_the_same_identity(manifest: Manifest) -> None:
    read = Manifest.from_bytes(manifest.to_bytes(), "manifest.json")
    assert read == manifest
    assert read.sha256 == manifest.sha256


def test_the_order_of_facts_does_not_change_the_bytes() -> None:
    one, other = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    assert Manifest("s", "p", "f", one, (), ()).to_bytes() == Manifest("s", "p", "f", other, (), ()).to_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"{}", b"null", b'{"format": 2}', b"\xff",
        Manifest("s", "p", "f", {}, (), ()).to_bytes().replace(b'"stage"', b'"stages"'),
        Manifest("s", "p", "f", {}, (), ()).to_bytes().replace(b'"format": 1', b'"format": 99'),
        Manifest("s", "p", "f", {}, (), ()).to_bytes().replace(b'"files": []', b'"files": [{"name": "x"}]'),
    ],
)  # fmt: skip
def test_bytes_that_are_no_manifest_are_rejected_with_their_place(data: bytes) -> None:
    with pytest.raises(LineageGap, match=r"parquet/fmt/manifest\.json"):
        Manifest.from_bytes(data, "parquet/fmt/manifest.json")


def test_a_file_that_the_manifest_does_not_list_is_rejected() -> None:
    manifest = Manifest("s", "p", "f", {}, (), (FileEntry("a.parquet", 1, "0" * 64),))
    assert manifest.file("a.parquet").bytes == 1
    with pytest.raises(LineageGap, match=r"a file b\.parquet"):
        manifest.file("b.parquet")
