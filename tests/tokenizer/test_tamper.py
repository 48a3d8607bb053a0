"""A tokenizer that was changed in any way is refused at load, by its lock or, under a forged lock, by its form."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import Golden, TokenizerLock

Document = dict[str, Any]


def _swap_merges(document: Document) -> None:
    merges = document["model"]["merges"]
    merges[10], merges[11] = merges[11], merges[10]


def _swap_ids(document: Document) -> None:
    vocab = document["model"]["vocab"]
    vocab["int"], vocab["for"] = vocab["for"], vocab["int"]


def _swap_keys(document: Document) -> None:
    names = {"int": "for", "for": "int"}
    vocab = document["model"]["vocab"]
    document["model"]["vocab"] = {names.get(key, key): index for key, index in vocab.items()}


def _rename(old: str, new: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        model = document["model"]
        model["vocab"] = {new if key == old else key: index for key, index in model["vocab"].items()}
        model["merges"] = [pair for pair in model["merges"] if old not in "".join(pair)]

    return change


def _drop_guard(document: Document) -> None:
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] != ">"]


def _set(*path: str | int, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


SPLIT = ("pre_tokenizer", "pretokenizers", 0)
TAMPERINGS: dict[str, Callable[[Document], None]] = {
    "swapped merges, same size": _swap_merges,
    "swapped ids, same size": _swap_ids,
    "swapped keys, same size": _swap_keys,
    "dropped merge": lambda document: document["model"]["merges"].pop(),
    "doubled merge": lambda document: document["model"]["merges"].append(document["model"]["merges"][0]),
    "merge without a product": lambda document: document["model"]["merges"].append(["zq", "zq"]),
    "merge of three": _set("model", "merges", 0, value=["a", "b", "c"]),
    "negative id": _set("model", "vocab", "i", value=-1),
    "id beyond 32 bits": _set("model", "vocab", "i", value=2**32 + 133),
    "byte without a token": _rename("!", "\ue000RESERVED_BYTE"),
    "dropped guard": _drop_guard,
    "special matched in raw text": _set("added_tokens", 2, "normalized", value=False),
    "special that is not special": _set("added_tokens", 2, "special", value=False),
    "special that strips": _set("added_tokens", 2, "lstrip", value=True),
    "other BOS in the template": _set("post_processor", "special_tokens", "<BOS>", "ids", value=[3]),
    "no template": _set("post_processor", value=None),
    "normaliser": _set("normalizer", value={"type": "NFC"}),
    "other expression": _set(*SPLIT, "pattern", "Regex", value=r"\s+|\S+"),
    "other behaviour": _set(*SPLIT, "behavior", value="Removed"),
    "prefix space": _set("pre_tokenizer", "pretokenizers", 1, "add_prefix_space", value=True),
    "other decoder": _set("decoder", "type", value="WordPiece"),
    "merges not ignored": _set("model", "ignore_merges", value=False),
    "dropout": _set("model", "dropout", value=0.1),
    "unknown token": _set("model", "unk_token", value="<UNK>"),
    "byte fallback": _set("model", "byte_fallback", value=True),
    "truncation": _set("truncation", value={"max_length": 4, "stride": 0, "strategy": "LongestFirst"}),
    "an extra key": _set("comment", value="hello"),
}
NEEDS_LOCK = {"swapped merges, same size", "swapped keys, same size", "dropped merge"}
"""Another tokenizer, well formed: only hashes and golden encodings tell."""


@pytest.fixture
def folder(published: Artifact, tmp_path: Path) -> Path:
    shutil.copytree(published.directory, tmp_path / "tokenizer")
    return tmp_path / "tokenizer"


def rewrite(folder: Path, change: Callable[[Document], None]) -> bytes:
    file = folder / "tokenizer.json"
    document = orjson.loads(file.read_bytes())
    change(document)
    data = orjson.dumps(document)
    assert data != file.read_bytes()
    file.write_bytes(data)
    return data


def relock(folder: Path, data: bytes) -> None:
    """Make the lock agree with changed bytes, as somebody who hides a change would."""
    file = folder / "tokenizer.lock"
    lock = TokenizerLock.from_bytes(file.read_bytes())
    file.write_bytes(dataclasses.replace(lock, sha256=sha256_bytes(data), size=len(data)).to_bytes())


def test_the_untouched_tokenizer_loads(folder: Path) -> None:
    assert Encoder.load(folder).vocabulary_size == 7700


@pytest.mark.parametrize("kind", TAMPERINGS)
def test_a_changed_tokenizer_is_rejected(folder: Path, kind: str) -> None:
    rewrite(folder, TAMPERINGS[kind])
    with pytest.raises(TokenizerDrift, match=r"of tokenizer\.json"):
        Encoder.load(folder)


@pytest.mark.parametrize("kind", [kind for kind in TAMPERINGS if kind not in NEEDS_LOCK])
def test_a_changed_form_is_rejected_even_under_a_lock_that_agrees(folder: Path, kind: str) -> None:
    relock(folder, rewrite(folder, TAMPERINGS[kind]))
    with pytest.raises(TokenizerDrift, match=r"tokenizer\.json"):
        Encoder.load(folder)


def test_swapped_strings_are_seen_by_the_golden_encodings(folder: Path) -> None:
    relock(folder, rewrite(folder, _swap_keys))
    with pytest.raises(TokenizerDrift, match="encoding of"):
        Encoder.load(folder)


def test_one_flipped_byte_of_equal_size_is_rejected(folder: Path) -> None:
    file = folder / "tokenizer.json"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(TokenizerDrift, match=r"sha256 of tokenizer\.json"):
        Encoder.load(folder)


def test_a_truncated_file_is_rejected(folder: Path) -> None:
    file = folder / "tokenizer.json"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TokenizerDrift, match=r"size of tokenizer\.json"):
        Encoder.load(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.lock"])
def test_a_missing_file_is_rejected(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(TokenizerDrift, match=r"tokenizer\.json and tokenizer\.lock"):
        Encoder.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goldens": (Golden("int", (2, 133)),)}, "golden texts"),
        ({"goldens": ()}, "golden texts"),
        ({"special_ids": {"BOS": 3}}, "special ids"),
        ({"recipe": TokenizerRecipe(7701)}, "vocabulary size"),
        ({"recipe": TokenizerRecipe(7700, "strict_runs")}, "tokenizer.json"),
        ({"sha256": "0" * 64}, "sha256"),
        ({"size": 5}, "size of"),
    ],
)
def test_a_changed_lock_is_rejected(folder: Path, change: dict[str, Any], message: str) -> None:
    file = folder / "tokenizer.lock"
    lock = TokenizerLock.from_bytes(file.read_bytes())
    file.write_bytes(dataclasses.replace(lock, **change).to_bytes())
    with pytest.raises(TokenizerDrift, match=message):
        Encoder.load(folder)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'"text"', b'{"format": 2}'])
def test_a_file_that_is_no_lock_is_rejected(folder: Path, data: bytes) -> None:
    (folder / "tokenizer.lock").write_bytes(data)
    with pytest.raises(TokenizerDrift, match="a lock written by megacpp"):
        Encoder.load(folder)


def test_a_lock_in_other_bytes_is_rejected(folder: Path) -> None:
    file = folder / "tokenizer.lock"
    file.write_bytes(json.dumps(json.loads(file.read_bytes())).encode())
    with pytest.raises(TokenizerDrift, match="canonical"):
        Encoder.load(folder)


def test_a_tokenizer_and_lock_replaced_together_do_not_match_the_manifest(
    published: Artifact, folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "data"
    shutil.copytree(published.root, root)
    forged = Artifact(root, published.path, published.manifest)
    relock(forged.directory, rewrite(forged.directory, _swap_merges))
    with pytest.raises(LineageGap, match=r"tokenizer\.(json|lock)"):
        forged.verify()


def test_a_missing_file_of_a_tokenizer_is_named_and_the_advice_is_no_training(tmp_path: Path) -> None:
    with pytest.raises(TokenizerDrift, match=r"found .*; what to do: megacpp run makes it again") as error:
        Encoder.load(tmp_path)
    assert "Errno" not in str(error.value)
