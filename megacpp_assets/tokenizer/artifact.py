"""Writes `tokenizer.json` so that HuggingFace tokenizers give our ids, and reads only files that were written so.

The file is a pure function of the model. The reader rebuilds it from its contents and compares every byte. So another
normaliser, flag, decoder or template is rejected, even if the lock agrees with the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.columns import SPECIAL_TOKENS_FILE, TOKENIZER_CONFIG_FILE
from megacpp_assets.contract.errors import TokenizerDrift
from megacpp_assets.contract.tokens.specials import BOS_ID, EOS_ID, FIXED_IDS, PAD_ID, SPECIAL_NAMES, UNK_ID
from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.vocabulary.fixed import special
from megacpp_assets.tokenizer.whitespace import Whitespace

TOKENIZER_FILE = "tokenizer.json"

_DO = "remove its folder tokenizer/DATASET: the next megacpp run restores a pinned one from its registry"


def dump_model(model: Model) -> bytes:
    """Return the bytes of `tokenizer.json`."""
    return orjson.dumps(_document(model))


def transformers_files(end_of_text: int = EOS_ID, longest: int | None = None) -> dict[str, bytes]:
    """Return the files from which `transformers.AutoTokenizer` knows BOS, EOS, PAD and UNK, by name.

    `end_of_text` is the id that counts as EOS. `longest` is the most tokens that a model takes, if it is known.
    """
    ids = {"bos_token": BOS_ID, "eos_token": end_of_text, "pad_token": PAD_ID, "unk_token": UNK_ID}
    names = {name: special(SPECIAL_NAMES[index]) for name, index in ids.items()}
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **({} if longest is None else {"model_max_length": longest}),
        **names,
    }
    return {TOKENIZER_CONFIG_FILE: canonical_json(config), SPECIAL_TOKENS_FILE: canonical_json(names)}


@gc_disabled
def load_model(data: bytes, whitespace: Whitespace) -> Model:
    """Return the model in `data`. `TokenizerDrift` unless the file is, byte by byte, what `dump_model` writes for
    it.
    """
    try:
        document: dict[str, Any] = orjson.loads(data)
        model = _read(document, whitespace)
        problem = _problem(document, model)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise TokenizerDrift(TOKENIZER_FILE, expected="a tokenizer of ours", found=repr(error), do=_DO) from error
    if problem or dump_model(model) != data:
        raise TokenizerDrift(TOKENIZER_FILE, expected="a tokenizer of ours", found=problem or "other bytes", do=_DO)
    return model


def _document(model: Model) -> dict[str, Any]:
    keys = model.keys
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(model.guards),
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": model.whitespace.pattern},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
            ],
        },
        "post_processor": _template(),
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {key: index for index, key in enumerate(keys)},
            "merges": [[keys[left], keys[right]] for left, right, _ in model.merges.tolist()],
        },
    }


def _added_tokens(guards: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the entries of special tokens and guards.

    Specials are matched in the second pass (normalized), after guards have cut out every '>', so no text matches one.
    """
    tokens = [(index, special(name), True) for index, name in enumerate(SPECIAL_NAMES)]
    tokens += sorted((index, text, False) for text, index in guards.items())
    return [
        {
            "id": index,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": is_special,
            "special": is_special,
        }
        for index, text, is_special in tokens
    ]


def _template() -> dict[str, Any]:
    bos = special(SPECIAL_NAMES[BOS_ID])

    def part(letter: str, type_id: int) -> list[dict[str, Any]]:
        return [
            {"SpecialToken": {"id": bos, "type_id": type_id}},
            {"Sequence": {"id": letter, "type_id": type_id}},
        ]

    return {
        "type": "TemplateProcessing",
        "single": part("A", 0),
        "pair": part("A", 0) + part("B", 1),
        "special_tokens": {bos: {"id": bos, "ids": [BOS_ID], "tokens": [bos]}},
    }


def _read(document: Mapping[str, Any], whitespace: Whitespace) -> Model:
    vocab: dict[str, int] = document["model"]["vocab"]
    strings = [left + right for left, right in document["model"]["merges"]]
    rows = [
        (vocab[left], vocab[right], vocab[text])
        for (left, right), text in zip(document["model"]["merges"], strings, strict=True)
    ]
    guards = {token["content"]: token["id"] for token in document["added_tokens"] if not token["special"]}
    merges = np.array(rows, dtype=np.uint32).reshape(-1, 3)
    return Model(tuple(vocab), merges, guards, whitespace)


def _problem(document: Mapping[str, Any], model: Model) -> str:
    """Return a fault that rebuilding would not show: ids that are not 0, 1, 2 …, or another id of a special token or
    a guard.
    """
    vocab: dict[str, int] = document["model"]["vocab"]
    if list(vocab.values()) != list(range(len(vocab))) or len(vocab) < FIXED_IDS:
        return "ids that do not run from 0"
    if any(vocab.get(special(name)) != index for index, name in enumerate(SPECIAL_NAMES)):
        return "a special token with another id"
    if any(vocab.get(text) != index for text, index in model.guards.items()) or ">" not in model.guards:
        return "a guard with another id"
    return ""
