"""Writes the arguments with which Megatron trains on prefixes, and sequence counts that save it reading each index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.megatron.pair.index_format import TOKEN_DTYPE
from megacpp_assets.megatron.pair.reader import BinIdx
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.tokenizer.artifact import transformers_files

_UINT16: Final = np.dtype("<u2")
_UINT16_IDS: Final = np.iinfo(np.uint16).max + 1


@dataclass(frozen=True, slots=True)
class Launch:
    """The samples that Megatron is to train on, and the folder for its indices.

    `tokenizer` is a folder written by `megatron_tokenizer`, in which `<BOS>` is the end-of-text token. Megatron resets
    positions and attention after each end-of-text token; our documents begin with BOS and have no EOS. With
    `fast_start` options the prefixes are whole and serve training alone, because Megatron's fast start takes no split.
    """

    blend: Sequence[tuple[float, Path]]
    tokenizer: Path
    row_tokens: int
    seed: int
    split: str
    cache: Path
    vocabulary_size: int
    sequences: Path | None = None
    fast_start: tuple[str, ...] = ()

    def blend_text(self) -> str:
        """Weights and prefixes, in the format of `--data-path` and of the file for `--data-args-path`."""
        return " ".join(f"{weight} {prefix}" for weight, prefix in self.blend)

    def write(self, folder: Path) -> None:
        """`blend.txt`, for `--data-args-path`, and `arguments.sh`, the arguments to paste, into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "blend.txt").write_text(self.blend_text() + "\n")
        (folder / "arguments.sh").write_text(" \\\n".join(self.arguments()) + "\n")

    def arguments(self) -> list[str]:
        """Return the options for `pretrain_gpt.py`, one string per option with its values. Attention does not cross
        documents.

        Only the local implementation with its unfused softmax reads the mask of documents; Transformer Engine's kernels
        are causal and ignore it. The BOS of a document belongs to the document before it, and positions count from the
        token after BOS.
        `training.megatron.embedding` has neither of these two deviations.
        """
        counts = [f"--per-dataset-sequences-path {self.sequences}"] if self.sequences else []
        option = "--train-data-path" if self.fast_start else "--data-path"
        split = ["--eval-iters 0"] if self.fast_start else [f"--split {self.split}"]
        return [
            f"{option} {self.blend_text()}",
            "--tokenizer-type HuggingFaceTokenizer",
            f"--tokenizer-model {self.tokenizer}",
            f"--vocab-size {self.vocabulary_size}",
            "--make-vocab-size-divisible-by 128",
            *split,
            f"--seq-length {self.row_tokens}",
            f"--seed {self.seed}",
            "--reset-position-ids",
            "--reset-attention-mask",
            "--eod-mask-loss",
            "--transformer-impl local",
            "--no-masked-softmax-fusion",
            "--recompute-activations",
            f"--data-cache-path {self.cache}",
            *self.fast_start,
            *counts,
        ]


def megatron_tokenizer(tokenizer: Artifact, folder: Path) -> Path:
    """Write `tokenizer` into `folder` with `<BOS>` as its end-of-text token, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / TOKENIZER_FILE, tokenizer.file(TOKENIZER_FILE).read_bytes())
    for name, data in transformers_files(end_of_text=BOS_ID).items():
        write_atomic(folder / name, data)
    return folder


def sequence_counts(pairs: Mapping[Path, BinIdx], vocabulary_size: int) -> bytes:
    """Return the JSON for `--per-dataset-sequences-path`: prefix -> [sequences, length of the document index].

    With this file Megatron reads no header, and derives the type of tokens from the vocabulary: two bytes up to 65,536
    ids, else four. Raises `SpecError` if a pair has the other type, because Megatron would silently train on wrong
    tokens.
    """
    guessed = _UINT16 if vocabulary_size <= _UINT16_IDS else TOKEN_DTYPE
    for prefix, pair in pairs.items():
        if pair.header.dtype != guessed:
            raise SpecError(
                f"sequence counts of {prefix.name}",
                expected=f"tokens of type {guessed.name}, which Megatron takes for {vocabulary_size} ids",
                found=pair.header.dtype.name,
                do="leave the counts out: Megatron then reads the type from the .idx",
            )
    counts = {str(prefix): [pair.header.sequences, pair.header.boundaries] for prefix, pair in pairs.items()}
    return json.dumps(counts, indent=2).encode() + b"\n"
