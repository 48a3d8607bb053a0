"""Reproduces the samples that GPTDataset of megatron-core 0.16.1 makes from a prefix with the same seed.

The documents of a split are shuffled and concatenated, repeated as often as the number of samples requires. A sample is
T consecutive tokens and the token after them. Samples cross document boundaries; they are not packed rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.megatron.pair.reader import BinIdx
from megacpp_assets.megatron.samples.index_cache import Numbers

_LEAST_OF_LAST_EPOCH: Final = 0.80
"""If less than this share of the last epoch is used, it is shuffled separately from the others.

Otherwise documents of the partial epoch would repeat earlier than in the other epochs.
"""


@dataclass(frozen=True, slots=True)
class SampleIndex:
    """The order of samples.

    `documents` (D,) int32 has the numbers of sequences in reading order, over all epochs. `starts` (N + 1, 2) has, for
    each sample and for the end of the last one, the index in `documents` and the token offset within that document.
    `shuffle` (N,) maps a position in training to a sample.
    """

    documents: Numbers
    starts: Numbers
    shuffle: Numbers

    def __len__(self) -> int:
        return len(self.shuffle)


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a mapped pair, in training order."""

    pair: BinIdx
    index: SampleIndex

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        """Return the T + 1 token ids of a sample: inputs are all but the last id, labels are all but the first.

        Raises `IndexError` if there is no such sample.
        """
        # Stored maps are of narrow types, in which a sum may overflow.
        sample = int(self.index.shuffle[number])
        (first, begin), (last, end) = self.index.starts[sample : sample + 2].tolist()
        parts: list[NDArray[Any]] = [self.pair.sequence(i) for i in self.index.documents[first : last + 1].tolist()]
        parts[-1] = parts[-1][: end + 1]
        parts[0] = parts[0][begin:]
        return np.concatenate(parts).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """At least `samples` samples of `row_tokens` tokens, in an order by `seed`."""

    row_tokens: int
    samples: int
    seed: int


def build_sample_index(
    lengths: NDArray[np.int32], sequences: NDArray[np.int32], *, row_tokens: int, samples: int, seed: int
) -> SampleIndex:
    """Return the index of at least `samples` samples of `row_tokens` tokens.

    Uses as many whole epochs as needed, at least one. Tokens at the end that are too few for a sample are dropped.

    Args:
        lengths: tokens of each sequence of the pair.
        sequences: numbers of the sequences of the split.
        row_tokens: T, the tokens of a sample.
        samples: the number of samples needed.
        seed: the seed of all shuffles.

    Raises:
        SpecError: the sequences are too short for one sample.
    """
    plan = plan_epochs(lengths, sequences, SampleRequest(row_tokens, samples, seed))
    random = np.random.RandomState(seed)
    documents = _shuffled_documents(sequences, plan.epochs - plan.separate_last, random)
    if plan.separate_last:
        documents = np.concatenate([documents, _shuffled_documents(sequences, 1, random)])
    starts = sample_starts(lengths[documents], row_tokens, plan.total)
    return SampleIndex(documents, starts, _shuffled_samples(plan.shuffled_first, plan.total, random))


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """`total` samples from `epochs` epochs. `separate_last`: the last epoch is shuffled separately.

    The first `shuffled_first` samples are shuffled among themselves, then the others.
    """

    epochs: int
    separate_last: bool
    total: int
    shuffled_first: int


def plan_epochs(lengths: NDArray[np.int32], sequences: NDArray[np.int32], request: SampleRequest) -> EpochPlan:
    """Return the epochs and samples that `request` needs.

    Raises `SpecError` if `sequences` are too short for one sample.
    """
    row_tokens, samples = request.row_tokens, request.samples
    epoch_tokens = int(lengths[sequences].sum(dtype=np.int64))
    if row_tokens < 1 or samples < 1 or epoch_tokens < 2:
        raise SpecError(
            "samples of a Megatron prefix",
            expected="at least one sample of at least one token, from at least two tokens",
            found=f"{samples} of {row_tokens}, from {epoch_tokens}",
            do="give more documents, or another split",
        )
    epochs = max(1, -(-(samples * row_tokens + 1) // epoch_tokens))
    before_last = ((epochs - 1) * epoch_tokens - 1) // row_tokens
    per_epoch = (epoch_tokens - 1) // row_tokens
    separate_last = epochs > 1 and samples - before_last < int(_LEAST_OF_LAST_EPOCH * per_epoch)
    total = (epochs * epoch_tokens - 1) // row_tokens
    return EpochPlan(epochs, separate_last, total, before_last if separate_last else total)


def split_bounds(split: str) -> list[tuple[float, float]]:
    """Begin and end of train, valid and test as shares of all sequences, from shares such as "98,1,1".

    Raises `SpecError` unless `split` has one to three shares, none negative and at least one above 0.
    """
    try:
        shares = [float(part) for part in split.split(",")]
    except ValueError:
        shares = []
    if not 1 <= len(shares) <= 3 or min(shares) < 0 or not 0 < sum(shares) < float("inf"):
        do = 'write shares such as "98,1,1"'
        raise SpecError("split", expected="one to three shares, one above 0", found=repr(split), do=do)
    weights = normalized([*shares, *[0.0] * (3 - len(shares))])
    # Megatron begins with the whole number 0, which its description of an index shows.
    ends: list[float] = [0]
    for weight in weights:
        ends.append(ends[-1] + weight)
    return list(pairwise(ends))


def split_sequences(sequences: int, split: str) -> list[NDArray[np.int32]]:
    """Return the numbers of the sequences of train, valid and test, in file order. Raises as `split_bounds`."""
    places = [[round(share * float(sequences)) for share in bounds] for bounds in split_bounds(split)]
    return [np.arange(*pair, dtype=np.int32) for pair in places]


def normalized(weights: list[float]) -> list[float]:
    """Weights scaled to a sum of 1, with the same rounding as in Megatron."""
    values = np.array(weights, np.float64)
    shares: list[float] = (values / np.sum(values)).tolist()
    return shares


def _shuffled_documents(sequences: NDArray[np.int32], epochs: int, random: np.random.RandomState) -> NDArray[np.int32]:
    documents = np.tile(sequences, epochs)
    random.shuffle(documents)
    return documents


def sample_starts(lengths: NDArray[np.int32], row_tokens: int, samples: int) -> NDArray[np.int64]:
    """Place of the document and offset in tokens where each of `samples` samples starts, and the last ends."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    places = np.arange(samples + 1, dtype=np.int64) * row_tokens
    documents = np.searchsorted(ends, places, side="right") - 1
    return np.stack([documents, places - ends[documents]], axis=1)


def _shuffled_samples(first: int, total: int, random: np.random.RandomState) -> NDArray[np.int64]:
    """Return the samples [0, first) in shuffled order, followed by the samples [first, total) in shuffled order."""
    parts = [np.arange(first), np.arange(first, total)]
    for part in parts:
        random.shuffle(part)
    return np.concatenate(parts)
