"""The format of a Megatron .idx file: constants and the 34-byte header. Little-endian, no padding, no checksum.

Three arrays follow the header: the length of each sequence (int32), the byte offset of each sequence in the .bin
(int64), and the first sequence of each document with the number of sequences at the end (int64) (docs/contracts.md).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

from megacpp_assets.contract.errors import IndexCorrupt

MAGIC: Final = b"MMIDIDX\x00\x00"
INDEX_VERSION: Final = 1
_HEADER: Final = struct.Struct("<9sQBQQ")
HEADER_BYTES: Final = _HEADER.size

TOKEN_CODE: Final = 4
"""int32. Megatron has no code for uint32; the bytes are the same for every id below 2^31."""
CODES: Final = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}
"""Dtypes by Megatron's code. Codes 6 and 7 are floats, for example image features; they are not token ids."""
MAX_SEQUENCES: Final = 2**31 - 1
"""Megatron counts sequences and documents in int32 (its document index, its sample builder)."""

TOKEN_DTYPE: Final = np.dtype(CODES[TOKEN_CODE])
NARROW_CODE: Final = 8
NARROW_IDS: Final = 65_500
"""Megatron's own writer uses two bytes per token for vocabularies smaller than this."""
MODE_DTYPE: Final = np.dtype("i1")
"""A multimodal index ends with one mode byte per sequence. The header does not say whether it has them."""
LENGTH_DTYPE: Final = np.dtype("<i4")
POINTER_DTYPE: Final = np.dtype("<i8")
ROW_DTYPE: Final = np.dtype("<i8")
"""The type in sidecar files that say where the documents, chunks or runs of each packed row begin."""


def token_code(vocabulary_size: int, token_dtype: str) -> int:
    """Return the dtype code of tokens below `vocabulary_size`, for a recipe's `megatron.token_dtype`."""
    return NARROW_CODE if token_dtype == "narrowest" and vocabulary_size < NARROW_IDS else TOKEN_CODE


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """The header of an index. `boundaries` is the length of the document index: the number of documents + 1."""

    code: int
    sequences: int
    boundaries: int

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of the values in the .bin."""
        return np.dtype(CODES[self.code])

    @property
    def holds_token_ids(self) -> bool:
        """Whether the values are integers, which can be compared with a vocabulary."""
        return self.dtype.kind != "f"

    @property
    def index_bytes(self) -> int:
        """The size in bytes of an .idx with this header, without modes."""
        per_sequence = LENGTH_DTYPE.itemsize + POINTER_DTYPE.itemsize
        return HEADER_BYTES + per_sequence * self.sequences + POINTER_DTYPE.itemsize * self.boundaries

    def to_bytes(self) -> bytes:
        """Return the 34 bytes at the start of the file."""
        return _HEADER.pack(MAGIC, INDEX_VERSION, self.code, self.sequences, self.boundaries)

    @staticmethod
    def from_bytes(data: bytes, where: str) -> IndexHeader:
        """Parse the start of an .idx file.

        Raises `IndexCorrupt`, which names `where`, if the magic or version is wrong, the dtype code is unknown, or
        there are more than `MAX_SEQUENCES` sequences or documents.
        """
        if len(data) < HEADER_BYTES:
            raise IndexCorrupt(where, expected=f"at least {HEADER_BYTES} bytes", found=f"{len(data)} bytes")
        magic, version, code, sequences, boundaries = _HEADER.unpack(data[:HEADER_BYTES])
        if (magic, version) != (MAGIC, INDEX_VERSION):
            raise IndexCorrupt(
                where, expected=f"{MAGIC!r} version {INDEX_VERSION}", found=f"{magic!r} version {version}"
            )
        if code not in CODES:
            raise IndexCorrupt(where, expected=f"dtype code in {sorted(CODES)}", found=code)
        if max(sequences, boundaries - 1) > MAX_SEQUENCES:
            found = f"{sequences} sequences, {boundaries - 1} documents"
            do = "split the data into several pairs"
            raise IndexCorrupt(where, expected=f"at most {MAX_SEQUENCES} sequences and documents", found=found, do=do)
        return IndexHeader(code, sequences, boundaries)
