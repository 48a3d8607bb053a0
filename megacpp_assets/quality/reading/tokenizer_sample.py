"""Reads a tokenizer for its checks: its encoder, and a sample of training texts with their encodings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import tokenizers

from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.tokens.encoding import Encoded
from megacpp_assets.contract.tokens.specials import BOS_ID, SPACE_ID
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import FORGERY, GOLDEN_TEXTS, read_lock
from megacpp_assets.tokenizer.registry import read_committed
from megacpp_assets.tokenizer.stage import training_files

SAMPLE_BYTES: Final = 300_000
"""Approximate bytes of training text that both encoders encode, spread over all repositories."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts and their encodings, one document per text. The last texts spell special tokens."""

    texts: tuple[str, ...]
    encoded: Encoded

    @staticmethod
    def take(artifact: Artifact, encoder: Encoder) -> Sample:
        """Encode every n-th training file, about `SAMPLE_BYTES` in all, and texts that are hard to encode.

        Bytes that are not UTF-8 are dropped.
        """
        texts = [*_corpus_texts(artifact), *GOLDEN_TEXTS, f"x{FORGERY}y", *FORGERY.split(" ")]
        return Sample(tuple(texts), encoder.encode_batch(texts))

    def ids(self, index: int) -> list[int]:
        """Return the token ids of document `index`."""
        ids: list[int] = self.encoded.ids[self.encoded.offsets[index] : self.encoded.offsets[index + 1]].tolist()
        return ids

    def specials(self) -> tuple[int, int]:
        """Return (number of special tokens, number of documents that start with BOS)."""
        ids = self.encoded.ids
        return int((ids < SPACE_ID).sum()), int((ids[self.encoded.offsets[:-1]] == BOS_ID).sum())


@dataclass
class CheckedTokenizer:
    """A tokenizer artifact under check. Its encoder and its sample are loaded when a check first needs them."""

    artifact: Artifact

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder. Raises `TokenizerDrift` if its bytes or its golden encodings differ from the lock's."""
        return Encoder.load(self.artifact.fetched().directory)

    @cached_property
    def sample(self) -> Sample:
        """The sample, encoded."""
        return Sample.take(self.artifact, self.encoder)

    def registry_difference(self) -> str:
        """Return how the registry's `tokenizer.json` differs from the artifact's, or why it cannot be read; ""
        if equal.
        """
        try:
            committed = read_committed(self.artifact.root, read_lock(self.artifact).commit, TOKENIZER_FILE)
            return "" if committed == self.artifact.file(TOKENIZER_FILE).read_bytes() else "other bytes"
        except (LineageGap, TokenizerDrift, OSError) as error:
            return str(error)

    def count_reference_mismatches(self) -> int:
        """Return the number of texts whose ids or character spans differ from those of HuggingFace tokenizers."""
        reference = tokenizers.Tokenizer.from_file(str(self.artifact.file(TOKENIZER_FILE)))
        encoded = self.sample.encoded
        spans = list(zip(encoded.char_starts.tolist(), encoded.char_ends.tolist(), strict=True))
        return sum(
            encoding.ids != self.sample.ids(index)
            or encoding.offsets != spans[encoded.offsets[index] : encoded.offsets[index + 1]]
            for index, encoding in enumerate(reference.encode_batch(list(self.sample.texts)))
        )

    def count_round_trip_changes(self) -> int:
        """Return the number of texts that change when they are encoded and decoded."""
        decode, ids = self.encoder.decode, self.sample.ids
        return sum(decode(ids(index)) != text.encode() for index, text in enumerate(self.sample.texts))


def _corpus_texts(artifact: Artifact) -> list[str]:
    texts: list[str] = []
    inputs = [open_artifact(artifact.root, entry.path) for entry in artifact.manifest.inputs]
    for raw in inputs:
        files = training_files(raw)
        share = SAMPLE_BYTES // len(inputs)
        step = max(1, sum(file.bytes for file in files) // max(share, 1))
        with blob_reader(raw) as reader:
            texts.extend(data.decode("utf-8", errors="ignore") for _, data in reader.read_all(files[::step]))
    return texts
