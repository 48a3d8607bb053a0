"""Tests of the one byte form of facts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.canonical import canonical_json, fingerprint, sha256_bytes, sha256_file


@given(st.binary(max_size=3000))
def test_a_file_and_its_bytes_have_one_hash(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("hash") / "file"
    path.write_bytes(data)
    assert sha256_file(path) == sha256_bytes(data) == hashlib.sha256(data).hexdigest()


def test_a_file_longer_than_a_block_is_hashed_whole(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10_000
    (tmp_path / "file").write_bytes(data)
    assert sha256_file(tmp_path / "file") == hashlib.sha256(data).hexdigest()


@given(st.dictionaries(st.text(max_size=5), st.integers(), max_size=8))
def test_a_fingerprint_depends_on_facts_not_on_their_order(facts: dict[str, int]) -> None:
    shuffled = dict(reversed(facts.items()))
    assert fingerprint(shuffled) == fingerprint(facts)
    assert fingerprint({**facts, "another": 1}) != fingerprint(facts) or facts.get("another") == 1


def test_text_is_stored_as_utf8_and_a_malformed_number_is_rejected() -> None:
    assert canonical_json({"name": "é"}) == '{\n  "name": "é"\n}\n'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"loss": float("nan")})
