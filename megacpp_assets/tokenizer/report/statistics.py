"""Statistics of a tokenizer over the corpus that trained it: `statistics.json`, whole numbers only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import FIRST_ORDINARY_ID, learned_ids, unused_ids
from megacpp_assets.tokenizer.train import RARE_COUNT, Trained

STATISTICS_FILE = "statistics.json"
_LONGEST = 20


@dataclass(frozen=True, slots=True)
class PartTotals:
    """Totals of a repository or of a language."""

    files: int
    bytes: int
    tokens: int

    @property
    def bytes_per_token(self) -> float:
        """Bytes per token without BOS; 0 if there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, slots=True)
class Fertility:
    """The words of one kind (identifier, number, operator, blank, wide), and their tokens and bytes."""

    words: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Facts about one training. `unused_ids` are reserved. `silent_ids` have a string that never occurs in the
    corpus.

    `rare_ids` are the learned ids that occur fewer than `RARE_COUNT` times. `filled_size` is the largest vocabulary in
    which every merge joins a pair that occurs `RARE_COUNT` times or more. Tokenizers that were trained before VERSION 5
    lack both.
    """

    whole: PartTotals
    repos: Mapping[str, PartTotals]
    languages: Mapping[str, PartTotals]
    fertility: Mapping[str, Fertility]
    words: int
    unique_words: int
    merges: int
    last_merge_count: int
    largest_pair_count: int
    reference_overflows: bool
    forbidden_pairs: int
    learned_ids: int
    unused_ids: int
    silent_ids: int
    longest_tokens: tuple[str, ...]
    round_trip_failures: int
    rare_ids: int | None = None
    filled_size: int | None = None

    def to_bytes(self) -> bytes:
        """Return canonical JSON."""
        return canonical_json(asdict(self))

    @staticmethod
    def from_bytes(data: bytes) -> Statistics:
        """Parse the output of `to_bytes`."""
        raw = json.loads(data)
        raw["whole"] = PartTotals(**raw["whole"])
        for name, kind in (("repos", PartTotals), ("languages", PartTotals), ("fertility", Fertility)):
            raw[name] = {key: kind(**value) for key, value in raw[name].items()}
        raw["longest_tokens"] = tuple(raw["longest_tokens"])
        return Statistics(**raw)


@dataclass(slots=True)
class Measure:
    """Sums up encodings of source files. Call `add` for each batch, which the encoder's threads share, then
    `finish`.
    """

    encoder: Encoder
    uses: NDArray[np.int64] = field(init=False)
    parts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    failures: int = 0

    def __post_init__(self) -> None:
        self.uses = np.zeros(self.encoder.vocabulary_size, dtype=np.int64)

    def add(self, files: Sequence[tuple[str, str, bytes]]) -> None:
        """Encode files, each with its repository and language, and decode them again."""
        encoded = self.encoder.encode_arrow(pa.array([text for _, _, text in files], pa.large_binary())).ids
        self.uses += np.bincount(encoded.flatten().to_numpy(), minlength=len(self.uses))
        for (repo, language, text), tokens in zip(files, encoded, strict=True):
            ids = tokens.values.to_numpy()
            self.failures += self.encoder.decode(ids) != text
            part = self.parts.setdefault((repo, language), [0, 0, 0])
            for place, value in enumerate((1, len(text), len(ids) - 1)):
                part[place] += value

    def finish(self, trained: Trained) -> Statistics:
        """Return all totals."""
        tokens = self.encoder.model.token_bytes()
        longest = sorted(range(FIRST_ORDINARY_ID, len(tokens)), key=lambda index: (-len(tokens[index]), index))
        used = [index for index in longest if self.uses[index]]
        fertility = self.encoder.fertility(trained.counter)
        return Statistics(
            whole=_total(list(self.parts.values())),
            repos=self._grouped(0),
            languages=self._grouped(1),
            fertility={kind: Fertility(*totals) for kind, totals in fertility.items()},
            words=trained.counter.words,
            unique_words=trained.counter.unique,
            merges=trained.merges,
            last_merge_count=trained.last_count,
            largest_pair_count=trained.largest_count,
            reference_overflows=trained.reference_overflows,
            forbidden_pairs=trained.forbidden_pairs,
            learned_ids=learned_ids(trained.model),
            unused_ids=unused_ids(trained.model),
            silent_ids=int((self.uses == 0).sum()) - unused_ids(trained.model),
            longest_tokens=tuple(tokens[index].decode("latin-1") for index in used[:_LONGEST]),
            round_trip_failures=self.failures,
            rare_ids=int((self.uses[FIXED_IDS:] < RARE_COUNT).sum()) - unused_ids(trained.model, FIXED_IDS),
            filled_size=_filled_size(trained),
        )

    def _grouped(self, key: int) -> dict[str, PartTotals]:
        names = sorted({names[key] for names in self.parts})
        return {name: _total([part for names, part in self.parts.items() if names[key] == name]) for name in names}


def _filled_size(trained: Trained) -> int:
    """Return the ids up to that of the last frequent merge. A merge that spells a known string has no id of its own."""
    frequent = trained.model.merges[: trained.frequent_merges, 2]
    return max(FIXED_IDS, int(frequent.max(initial=0)) + 1)


def _total(parts: list[list[int]]) -> PartTotals:
    return PartTotals(*(sum(part[place] for part in parts) for place in range(3)))
