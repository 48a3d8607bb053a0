"""One mixture of a data root, found by its name, for a training script that is not ours.

This module imports neither Dagster nor torch; `torch_rows` and `torch_stream` import torch when they are called.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.contract.errors import SpecError, closest_name
from megacpp_assets.contract.extras import import_or_name_extra
from megacpp_assets.contract.megatron_files import BIN, IDX, pairs_name, prefix_name
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.loader.rows import PackedRows, open_rows
from megacpp_assets.megatron.vocabulary import tokenizer_of
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import data_root, megatron_path, packed_path

if TYPE_CHECKING:
    from megacpp_assets.interop.torch_data import RowDataset, RowStream
    from megacpp_assets.tokenizer.encoder import Encoder

_TORCH_DATA = "megacpp_assets.interop.torch_data"


@dataclass(frozen=True, slots=True)
class MixtureData:
    """The published files of one mixture. Every file is compared with its manifest before its path is returned."""

    root: Path
    dataset: str
    mixture: Mixture

    def rows(
        self,
        split: str = TRAIN_SPLIT,
        *,
        symbols: bool = False,
        changes: bool = False,
        chunks: bool = False,
        platforms: bool = False,
    ) -> PackedRows:
        """Return the rows of `split` ("train" or "valid") as memory maps; `rows.batch([0, 7])` gives numpy arrays.

        Raises `LineageGap` for a missing or changed file and `IndexCorrupt` for files that contradict each other.
        """
        _require_split(split)
        return open_rows(
            self.megatron,
            pairs_name(self.megatron.manifest),
            split,
            symbols=symbols,
            changes=changes,
            chunks=chunks,
            platforms=platforms,
        )

    def torch_rows(self, split: str = TRAIN_SPLIT, **channels: bool) -> RowDataset:
        """Return a map-style `torch.utils.data.Dataset`: row i as a dict of tensors. `channels` are the options
        of `rows`.
        """
        import_or_name_extra(_TORCH_DATA)
        from megacpp_assets.interop.torch_data import RowDataset

        return RowDataset(partial(self.rows, split, **channels))

    def torch_stream(
        self,
        split: str = TRAIN_SPLIT,
        *,
        batch_rows: int,
        seed: int = 0,
        rank: int = 0,
        ranks: int = 1,
        **channels: bool,
    ) -> RowStream:
        """Return an endless `torch.utils.data.IterableDataset` of batches with `state_dict` and `load_state_dict`.

        Each of `ranks` processes takes `batch_rows` rows a step; `channels` are the options of `rows`.
        """
        import_or_name_extra(_TORCH_DATA)
        from megacpp_assets.interop.torch_data import ReadOrder, RowStream

        return RowStream(partial(self.rows, split, **channels), ReadOrder(batch_rows, seed, rank, ranks))

    def megatron_prefix(self, split: str = TRAIN_SPLIT) -> Path:
        """Return the path of the Megatron pair of `split` without `.bin` or `.idx`, as `--data-path` takes it."""
        _require_split(split)
        prefix = prefix_name(pairs_name(self.megatron.manifest), split)
        for suffix in (BIN, IDX):
            self.megatron.file(prefix + suffix)
        return self.megatron.directory / prefix

    def parquet_files(self, split: str = TRAIN_SPLIT) -> list[Path]:
        """Return the Parquet files of the packed rows of `split`, in the order of the rows."""
        _require_split(split)
        packed = open_artifact(self.root, packed_path(self.dataset, self.mixture))
        return packed.files(".parquet", f"{split}_")

    def references(self) -> list[str]:
        """Return the references NAME@REF whose documents the rows are made of, in order.

        A data root also has other references of a repository: earlier ones, and those of `megacpp run --refs`.
        """
        packed = open_artifact(self.root, packed_path(self.dataset, self.mixture))
        return [entry.path.rpartition("/")[2] for entry in packed.manifest.inputs]

    @property
    def megatron(self) -> Artifact:
        """The artifact of stage `megatron_bin_idx`: its folder and its manifest."""
        return open_artifact(self.root, megatron_path(self.dataset, self.mixture))

    @property
    def tokenizer_folder(self) -> Path:
        """The folder for `transformers.AutoTokenizer.from_pretrained`."""
        return tokenizer_of(self.megatron).verify().directory

    def tokenizer(self) -> Encoder:
        """Our own encoder, which gives the ids of the rows; it needs no `transformers`."""
        from megacpp_assets.tokenizer.encoder import Encoder

        return Encoder.load(self.tokenizer_folder)


def open_mixture(root: str | os.PathLike[str], name: str, dataset: str = "") -> MixtureData:
    """Return the mixture `name`, for example "base/4k", below the data root `root`.

    `dataset` may be left out where one dataset alone has this mixture. Raises `SpecError` for a malformed name, where
    no dataset has the mixture with its Megatron files, and where several have it; the message names them.
    """
    place, mixture = data_root(os.fspath(root)), Mixture.parse(name)
    having = sorted(each.parents[2].name for each in place.glob(f"megatron/*/{mixture.key}/{COMPLETE_FILE}"))
    if not having:
        _require_unpacked(place, mixture)
        others = sorted("/".join(each.parts[-3:-1]) for each in place.glob(f"megatron/*/*/*/{COMPLETE_FILE}"))
        none = "no mixture" if place.is_dir() else "no such folder"
        found = f"only {', '.join(dict.fromkeys(others))}" if others else none
        raise SpecError(
            f"mixture {name} of {place}",
            closest=closest_name(name, others),
            expected="a finished mixture",
            found=found,
            do="make it with megacpp run, or name another data root",
        )
    if dataset not in having and (dataset or len(having) > 1):
        expected = f"dataset {dataset} to have it" if dataset else "one dataset that has it"
        do = "name one of these as the dataset"
        raise SpecError(f"mixture {name} of {place}", expected=expected, found=", ".join(having), do=do)
    return MixtureData(place, dataset or having[0], mixture)


def _require_unpacked(place: Path, mixture: Mixture) -> None:
    """Raise `SpecError` if `mixture` has packed rows: then a stage is missing, and not the mixture."""
    if any(place.glob(f"packed/*/{mixture.key}/{COMPLETE_FILE}")):
        raise SpecError(
            f"mixture {mixture.key} of {place}",
            expected="its Megatron files, which the stage megatron_bin_idx makes",
            found="only its packed rows",
            do="run the same megacpp run again with --until megatron_bin_idx, or without --until",
        )


def _require_split(split: str) -> None:
    if split not in SPLITS:
        raise SpecError("split", expected=" or ".join(SPLITS), found=repr(split), do="name one of them")
