"""The index of a mix: maps an instance to a window of L tokens in one of several raw token files.

Windows never cross files. The tokens at the end of a file that do not fill a window are dropped. Instances are numbered
in the order of the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.grain.files import read_pair_header
from megacpp_assets.loader.grain.refusals import BadArgument, BadIndex, NoSuchWindow

INDEX_FORMAT_VERSION: Final = "1"
_REBUILD: Final = "build the index again from the files"

HeaderReader = Callable[[str], tuple[str, tuple[int, ...]]]
"""A function from a path to (numpy name of the dtype, shape)."""


@dataclass(frozen=True, slots=True)
class OlmoNpyFileEntry:
    """One file of the mix. It has `n_instances` instances; the first has the number `instance_offset`."""

    path: str
    label: str
    n_tokens: int
    n_instances: int
    instance_offset: int


@dataclass(frozen=True, slots=True)
class OlmoNpyIndex:
    """The files of a mix, in order.

    `total_tokens` includes the dropped ends. `tokenizer` is information for the reader and is not checked. Raises
    `BadIndex` unless every count follows from the tokens of the files.
    """

    format_version: str
    sequence_length: int
    dtype: str
    tokenizer: str
    files: tuple[OlmoNpyFileEntry, ...]
    total_instances: int
    total_tokens: int
    fingerprint: str

    def __post_init__(self) -> None:
        _require("format version", INDEX_FORMAT_VERSION, self.format_version)
        if not _is_count(self.sequence_length) or self.sequence_length < 1:
            raise BadIndex("index, sequence_length", expected="at least 1", found=self.sequence_length, do=_REBUILD)
        offset = 0
        for entry in self.files:
            counts = (entry.n_tokens, entry.n_instances, entry.instance_offset)
            if not all(map(_is_count, counts)):
                raise BadIndex(f"index, {entry.path}", expected="whole numbers from 0", found=counts, do=_REBUILD)
            _require(f"n_instances of {entry.path}", entry.n_tokens // self.sequence_length, entry.n_instances)
            _require(f"instance_offset of {entry.path}", offset, entry.instance_offset)
            offset += entry.n_instances
        _require("total_instances", offset, self.total_instances)
        _require("total_tokens", sum(entry.n_tokens for entry in self.files), self.total_tokens)
        stated = compute_fingerprint(self.sequence_length, self.dtype, self.tokenizer, self.files)
        _require("fingerprint", stated, self.fingerprint)

    def to_json_dict(self) -> dict[str, Any]:
        """Return the JSON object that `save` writes."""
        return {
            "format_version": self.format_version,
            "sequence_length": self.sequence_length,
            "dtype": self.dtype,
            "tokenizer": self.tokenizer,
            "total_instances": self.total_instances,
            "total_tokens": self.total_tokens,
            "fingerprint": self.fingerprint,
            "files": [asdict(entry) for entry in self.files],
        }

    def save(self, path: str | Path) -> None:
        """Write the index as JSON."""
        Path(path).write_text(json.dumps(self.to_json_dict(), indent=2), encoding="utf-8")

    def locate(self, instances: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (number of the file, first token in the file) of each instance, both of shape (N,).

        Raises `NoSuchWindow` if an instance does not exist.
        """
        outside = (instances < 0) | (instances >= self.total_instances)
        if outside.any():
            raise NoSuchWindow(
                "instance",
                expected=f"a number from 0 to {self.total_instances - 1}",
                found=int(instances[outside][0]),
                do="ask for an instance of this index",
            )
        starts = np.array([entry.instance_offset for entry in self.files], np.int64)
        # A file without a window has the same start as the next file. The last of equal starts is the file with the
        # window.
        numbers = np.searchsorted(starts, instances, side="right") - 1
        return numbers, (instances - starts[numbers]) * self.sequence_length


def build_index(
    paths_and_labels: Sequence[tuple[str, str]],
    sequence_length: int,
    *,
    tokenizer: str,
    header_reader: HeaderReader = read_pair_header,
) -> OlmoNpyIndex:
    """Return the index of the files (path, label), in the given order.

    The default reader expects the `.bin` of Megatron pairs; `files.raw_header_reader` is for raw tokens of a known
    type.

    Raises:
        BadArgument: the length is below 1, or there are no files.
        BadIndex: the files have different dtypes, or more than one dimension.
    """
    if sequence_length < 1:
        raise BadArgument("sequence_length", expected="at least 1", found=sequence_length, do="choose a longer window")
    if not paths_and_labels:
        raise BadArgument("files of an index", expected="a non-empty list", found="none", do="name a file of tokens")
    entries: list[OlmoNpyFileEntry] = []
    offset, dtype = 0, ""
    for path, label in paths_and_labels:
        found, shape = header_reader(path)
        dtype = dtype or found
        if found != dtype:
            do = "index files of one dtype together"
            raise BadIndex(f"Heterogeneous dtypes: {path}", expected=dtype, found=found, do=do)
        if len(shape) != 1:
            raise BadIndex(path, expected="a 1-D array", found=f"shape {shape}", do="write its values flat")
        entries.append(OlmoNpyFileEntry(path, label, shape[0], shape[0] // sequence_length, offset))
        offset += entries[-1].n_instances
    return OlmoNpyIndex(
        format_version=INDEX_FORMAT_VERSION,
        sequence_length=sequence_length,
        dtype=dtype,
        tokenizer=tokenizer,
        files=tuple(entries),
        total_instances=offset,
        total_tokens=sum(entry.n_tokens for entry in entries),
        fingerprint=compute_fingerprint(sequence_length, dtype, tokenizer, entries),
    )


def load_index(path: str | Path) -> OlmoNpyIndex:
    """Load an index that `save` wrote.

    Raises `BadIndex` if it is malformed, contradicts itself, or has another version.
    """
    try:
        raw = json.loads(Path(path).read_bytes())
        known = {field.name: raw[field.name] for field in fields(OlmoNpyIndex)}
        known["files"] = tuple(OlmoNpyFileEntry(**entry) for entry in raw["files"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadIndex(
            f"{path}", expected="the JSON of an index", found=f"{type(error).__name__} {error}", do=_REBUILD
        ) from error
    return OlmoNpyIndex(**known)


def compute_fingerprint(sequence_length: int, dtype: str, tokenizer: str, files: Sequence[OlmoNpyFileEntry]) -> str:
    """Return a hash of everything that decides the order of tokens.

    Paths are hashed as written, so that moved files need `path_remap` and keep the fingerprint.
    """
    parts = [INDEX_FORMAT_VERSION, str(sequence_length), dtype, tokenizer]
    for entry in files:
        parts += [entry.path, str(entry.n_tokens)]
    return "sha256:" + hashlib.sha256("".join(f"{part}\0" for part in parts).encode()).hexdigest()


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _require(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise BadIndex(f"index, {what}", expected=expected, found=found, do=_REBUILD)
