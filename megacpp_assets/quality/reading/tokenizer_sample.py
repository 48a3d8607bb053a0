"""A tokenizer as its checks read it: the encoder that loads, and texts of its corpus with their encodings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import tokenizers

from megacpp_assets.contract.encoding import Encoded
from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.specials import BOS_ID, SPACE_ID
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import FORGERY, GOLDEN_TEXTS, read_lock
from megacpp_assets.tokenizer.registry import read_committed
from megacpp_assets.tokenizer.stage import training_files

SAMPLE_BYTES: Final = 300_000
"""Corpus text that is encoded by both encoders, spread over all repositories."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts and their encodings, one document each; the last ones spell special tokens."""

    texts: tuple[str, ...]
    encoded: Encoded

    @staticmethod
    def take(artifact: Artifact, encoder: Encoder) -> Sample:
        """Every n-th training file without its stray bytes, about `SAMPLE_BYTES` in all, then texts made to be hard."""
        texts = [*_corpus_texts(artifact), *GOLDEN_TEXTS, f"x{FORGERY}y", *FORGERY.split(" ")]
        return Sample(tuple(texts), encoder.encode_batch(texts))

    def ids(self, index: int) -> list[int]:
        """Ids of document `index`."""
        ids: list[int] = self.encoded.ids[self.encoded.offsets[index] : self.encoded.offsets[index + 1]].tolist()
        return ids

    def specials(self) -> tuple[int, int]:
        """Special tokens, and documents that start with BOS."""
        ids = self.encoded.ids
        return int((ids < SPACE_ID).sum()), int((ids[self.encoded.offsets[:-1]] == BOS_ID).sum())


@dataclass
class Trained:
    """A tokenizer artifact. `encoder` raises `TokenizerDrift` where locked bytes or golden encodings are not its."""

    artifact: Artifact

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder."""
        return Encoder.load(self.artifact.fetched().directory)

    @cached_property
    def sample(self) -> Sample:
        """The sample, encoded."""
        return Sample.take(self.artifact, self.encoder)

    def registered(self) -> str:
        """What the registry holds in place of the same `tokenizer.json`, "" if it is the same."""
        try:
            committed = read_committed(self.artifact.root, read_lock(self.artifact).commit, TOKENIZER_FILE)
            return "" if committed == self.artifact.file(TOKENIZER_FILE).read_bytes() else "other bytes"
        except (LineageGap, TokenizerDrift, OSError) as error:
            return str(error)

    def unlike_reference(self) -> int:
        """Texts whose ids or character spans HuggingFace gives otherwise."""
        reference = tokenizers.Tokenizer.from_file(str(self.artifact.file(TOKENIZER_FILE)))
        encoded = self.sample.encoded
        spans = list(zip(encoded.char_starts.tolist(), encoded.char_ends.tolist(), strict=True))
        return sum(
            encoding.ids != self.sample.ids(index)
            or encoding.offsets != spans[encoded.offsets[index] : encoded.offsets[index + 1]]
            for index, encoding in enumerate(reference.encode_batch(list(self.sample.texts)))
        )

    def changed_by_round_trip(self) -> int:
        """Texts that are others once encoded and decoded."""
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
