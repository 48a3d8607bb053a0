"""Index maps on disk as megatron-core 0.16.1 caches them: the same names and bytes, so that each reads the other's.

The hash in a name covers the path of a pair and the settings, not the tokens. Maps that do not fit the pair are
rejected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import IndexCorrupt, SpecError
from megacpp_assets.storage.atomic import promote, temporary_path, write_atomic
from megacpp_assets.storage.root.locks import in_turn

PARTS: Final = ("train", "valid", "test")
SAMPLE_MAPS: Final = ("document_index", "sample_index", "shuffle_index")
BLEND_MAPS: Final = ("dataset_index", "dataset_sample_index")
_DESCRIPTION: Final = "description.txt"


class Numbers(Protocol):
    """An array, or one that is opened at its first access."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: Any, /) -> Any: ...


class DeferredArray:
    """The array of a .npy file, mapped at the first access to a value; `length` is known without the file."""

    def __init__(self, path: Path, length: int) -> None:
        self._path, self._length = path, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Any:
        return self._array[place]

    @cached_property
    def _array(self) -> NDArray[Any]:
        return _mapped(self._path)


@dataclass(frozen=True, slots=True)
class IndexCache:
    """A folder of index maps, and how to start from it.

    `tokenizer` are the `unique_identifiers` of Megatron's tokenizer, which are part of every hash. `fast_load` is
    `--dataloader-fast-cache-load`: all maps exist already, and nothing is locked, built or compared. `defer_maps` is
    `--dataloader-defer-npy-index-mmap`: maps are opened at their first access. `sequences` is the content of
    `--per-dataset-sequences-path`: no header of an .idx is read.
    """

    folder: Path
    tokenizer: Mapping[str, str]
    fast_load: bool = False
    defer_maps: bool = False
    sequences: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def maps(
        self,
        description: Mapping[str, Any],
        lengths: Mapping[str, int],
        build: Callable[[], Mapping[str, NDArray[Any]]],
    ) -> dict[str, Numbers]:
        """Return the maps of `description`, whose names and lengths are `lengths`; builds and stores them if they are
        missing.

        One process builds, others that ask for the same maps wait for it. `SpecError` with `fast_load` or `defer_maps`
        for a missing map.
        """
        stem = _stem(description)
        paths = {name: self.folder / f"{stem}-{name}.npy" for name in lengths}
        if self.defer_maps:
            return {name: DeferredArray(path, lengths[name]) for name, path in paths.items()}
        text = self.folder / f"{stem}-{_DESCRIPTION}"
        if not self.fast_load and not _exist([text, *paths.values()]):
            with in_turn(self.folder, stem, writes=True):
                if not _exist([text, *paths.values()]):
                    _store(paths, build())
                    write_atomic(text, _text(description).encode())
        return {name: _mapped(path) for name, path in paths.items()}

    def require_fits(self, description: Mapping[str, Any], fits: bool) -> None:
        """Raise `IndexCorrupt` if the stored maps of `description` do not fit the current files."""
        if not fits:
            name = f"{self.folder / _stem(description)}-*"
            do = "remove these files, or name another folder"
            raise IndexCorrupt(name, expected="index maps of these files", found="maps of other data", do=do)


def split_matrix(bounds: Iterable[tuple[float, float]]) -> list[list[float] | None]:
    """Return begin and end of each part as in Megatron's config; None for a part without a share."""
    return [[begin, end] if end > begin else None for begin, end in bounds]


def tokenizer_identifiers(folder: Path) -> dict[str, str]:
    """Return the `unique_identifiers` of the tokenizer that Megatron-LM core_v0.16.1 builds for
    `--tokenizer-type HuggingFaceTokenizer --tokenizer-model FOLDER`."""
    return {
        "class": "megatron.core.tokenizers.text.models.default_tokenizer.DefaultTokenizerText",
        "tokenizer_path": str(folder),
        "vocab_file": "None",
        "merges_file": "None",
        "additional_special_tokens": "[]",
        "use_fast": "False",
        "trust_remote_code": "False",
        "include_special_tokens": "False",
    }


def sample_index_dtype(documents: int, longest: int) -> type[np.signedinteger[Any]]:
    """Return Megatron's type for indices of `documents` and for token offsets in the `longest` of them."""
    return np.int32 if max(documents, longest) <= np.iinfo(np.int32).max else np.int64


def shuffle_index_dtype(samples: int) -> type[np.integer[Any]]:
    """Return Megatron's type for the numbers of `samples` samples."""
    return np.int64 if samples >= np.iinfo(np.uint32).max - 1 else np.uint32


def _text(description: Mapping[str, Any]) -> str:
    return json.dumps(description, indent=4)


def _stem(description: Mapping[str, Any]) -> str:
    digest = hashlib.md5(_text(description).encode(), usedforsecurity=False).hexdigest()
    part = description["index_split"] if "index_split" in description else description["split"]
    return f"{digest}-{description['class']}-{part}"


def _exist(paths: Iterable[Path]) -> bool:
    return all(path.is_file() for path in paths)


def _store(paths: Mapping[str, Path], arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, path in paths.items():
        temporary = temporary_path(path)
        with temporary.open("wb") as file:
            np.save(file, arrays[name])
        promote(temporary, path)


def _mapped(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
    except FileNotFoundError as error:
        do = "build the maps first: leave fast_load and defer_maps out once"
        raise SpecError(str(path), expected="a stored index map", found="no such file", do=do) from error
    except ValueError as error:
        do = "remove the files of this hash"
        raise IndexCorrupt(str(path), expected="a .npy file", found=str(error), do=do) from error
    return array
