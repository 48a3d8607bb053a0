"""Invariants of `tokenizer`: locked bytes, registered commit, agreement with HuggingFace, lossless, unforgeable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tokenizers import Tokenizer

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.encoding import Encoded
from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.specials import BOS_ID, SPACE_ID
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import FORGERY, GOLDEN_TEXTS
from megacpp_assets.tokenizer.registry import read_committed
from megacpp_assets.tokenizer.stage import read_lock, training_files

CHECKS: Final = (
    "lock_matches",
    "registry_holds_tokenizer",
    "vocabulary_size",
    "reference_agrees",
    "round_trip_lossless",
    "specials_unforgeable",
)
SAMPLE_BYTES: Final = 300_000
"""Corpus text that is encoded by both encoders, spread over all repositories."""


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. `LineageGap` if a training input is gone."""
    registry = check_registry(artifact)
    try:
        encoder = Encoder.load(artifact.directory)
    except TokenizerDrift as error:
        found = {"lock_matches": str(error), "registry_holds_tokenizer": registry.found}
        rest = (CheckResult(name, False, "a tokenizer that loads", found.get(name, "none")) for name in CHECKS)
        return [registry if result.name == registry.name else result for result in rest]
    sample = Sample.take(artifact, encoder)
    return [
        CheckResult("lock_matches", True, "the locked bytes and golden encodings", "both"),
        registry,
        check_size(artifact, encoder),
        check_reference(artifact, sample),
        check_round_trip(encoder, sample),
        check_specials(sample),
    ]


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


def check_registry(artifact: Artifact) -> CheckResult:
    """The registry commit that the lock names holds the same `tokenizer.json`."""
    try:
        committed = read_committed(artifact.root, read_lock(artifact).commit, TOKENIZER_FILE)
        same = committed == artifact.file(TOKENIZER_FILE).read_bytes()
        found = "the same bytes" if same else "other bytes"
    except (LineageGap, TokenizerDrift, OSError) as error:
        same, found = False, str(error)
    return CheckResult("registry_holds_tokenizer", same, "the same bytes", found)


def check_size(artifact: Artifact, encoder: Encoder) -> CheckResult:
    """The vocabulary has as many ids as the recipe of the manifest asks for."""
    expected = int(artifact.manifest.config["recipe"]["vocabulary_size"])
    found = encoder.vocabulary_size
    return CheckResult("vocabulary_size", found == expected, f"{expected} ids", f"{found} ids")


def check_reference(artifact: Artifact, sample: Sample) -> CheckResult:
    """HuggingFace loads the file and gives the same ids and character spans for every text of the sample."""
    reference = Tokenizer.from_file(str(artifact.file(TOKENIZER_FILE)))
    encodings = reference.encode_batch(list(sample.texts))
    encoded = sample.encoded
    spans = list(zip(encoded.char_starts.tolist(), encoded.char_ends.tolist(), strict=True))
    differ = [
        index
        for index, encoding in enumerate(encodings)
        if encoding.ids != sample.ids(index)
        or encoding.offsets != spans[encoded.offsets[index] : encoded.offsets[index + 1]]
    ]
    found = f"{len(differ)} of {len(sample.texts)} texts differ"
    return CheckResult("reference_agrees", not differ, "0 texts differ from HuggingFace tokenizers", found)


def check_round_trip(encoder: Encoder, sample: Sample) -> CheckResult:
    """decode(encode(x)) == x for every text of the sample."""
    failures = sum(encoder.decode(sample.ids(index)) != text.encode() for index, text in enumerate(sample.texts))
    return CheckResult("round_trip_lossless", failures == 0, "0 texts change", f"{failures} texts change")


def check_specials(sample: Sample) -> CheckResult:
    """One special token per document, the BOS at its head, although some texts spell all of them."""
    specials = sample.encoded.ids < SPACE_ID
    heads = sample.encoded.ids[sample.encoded.offsets[:-1]] == BOS_ID
    found = f"{int(specials.sum())} special tokens, {int(heads.sum())} at a document's head"
    count = len(sample.texts)
    passed = int(specials.sum()) == count == int(heads.sum())
    return CheckResult("specials_unforgeable", passed, f"{count} special tokens, all at a document's head", found)


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
