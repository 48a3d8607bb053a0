"""Other loaders over the rows of the benchmark: a column of ids and one for each channel, of their narrowest types.

They are no dependencies; benchmarks/README.md says how they are brought to an environment of their own. Rows are asked
for by number, in the order that ours are, and batches are arrays of shape (B, T) by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Row = Mapping[str, NDArray[np.generic]]
Take = Callable[[NDArray[np.int64]], Mapping[str, NDArray[np.generic]]]


def _streaming(folder: Path, rows: Iterator[Row]) -> Take:
    from streaming import MDSWriter, StreamingDataset

    first = next(rows)
    columns = {name: f"ndarray:{values.dtype}:{len(values)}" for name, values in first.items()}
    with MDSWriter(out=str(folder), columns=columns) as writer:
        writer.write(first)
        for row in rows:
            writer.write(row)
    dataset = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)

    def take(numbers: NDArray[np.int64]) -> Mapping[str, NDArray[np.generic]]:
        samples = [dataset[int(number)] for number in numbers]
        return {name: np.stack([sample[name] for sample in samples]) for name in columns}

    return take


def _datasets(folder: Path, rows: Iterator[Row]) -> Take:
    from datasets import Dataset, Features, List, Value, load_from_disk

    first = next(rows)
    features = Features({name: List(Value(str(v.dtype)), length=len(v)) for name, v in first.items()})
    held: dict[str, list[NDArray[np.generic]]] = {name: [values] for name, values in first.items()}
    for row in rows:
        for name, values in row.items():
            held[name].append(values)
    Dataset.from_dict(held, features=features).save_to_disk(str(folder))
    dataset = load_from_disk(str(folder)).with_format("numpy")

    def take(numbers: NDArray[np.int64]) -> Mapping[str, NDArray[np.generic]]:
        return dict(dataset[numbers])

    return take


PEERS: Mapping[str, tuple[str, Callable[[Path, Iterator[Row]], Take]]] = {
    "MosaicML streaming": ("streaming", _streaming),
    "HuggingFace datasets": ("datasets", _datasets),
}
"""Name -> (module, how it is given the rows)."""


def absent() -> list[str]:
    """The peers that are not installed."""
    return [name for name, (module, _) in PEERS.items() if find_spec(module) is None]
