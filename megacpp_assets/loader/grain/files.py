"""Reads the number and type of the tokens in a file: from the index of a Megatron pair, from the size of a raw file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from megacpp_assets.contract.megatron_files import BIN
from megacpp_assets.loader.grain.refusals import BadArgument, BadIndex, NoSuchFile
from megacpp_assets.megatron.pair.reader import open_bin_idx

_NPY_MAGIC: Final = b"\x93NUMPY"


def read_pair_header(path: str) -> tuple[str, tuple[int, ...]]:
    """Return (dtype, (tokens,)) of a Megatron `.bin`, whose `.idx` must be in the same folder.

    Raises `BadArgument` for another suffix, and `IndexCorrupt` if the pair is malformed.
    """
    if not path.endswith(BIN):
        do = "name the .bin of a pair, or read raw files with raw_header_reader"
        raise BadArgument(path, expected=f"a name that ends with {BIN}", found=Path(path).name, do=do)
    tokens = open_bin_idx(Path(path.removesuffix(BIN))).tokens
    return tokens.dtype.name, tokens.shape


def raw_header_reader(dtype: str) -> Callable[[str], tuple[str, tuple[int, ...]]]:
    """Return a reader for raw files of little-endian values of `dtype`. Their suffix does not matter."""

    def read(path: str) -> tuple[str, tuple[int, ...]]:
        reject_npy(Path(path))
        size, width = Path(path).stat().st_size, np.dtype(dtype).itemsize
        if size % width:
            do = "name the type that it was written with"
            raise BadIndex(path, expected=f"whole values of {dtype}, {width} bytes each", found=f"{size} bytes", do=do)
        return dtype, (size // width,)

    return read


def reject_npy(path: Path) -> None:
    """Raise `BadIndex` if numpy.save wrote the file, because its header would be read as tokens.

    Raises `NoSuchFile` if the file is missing.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(_NPY_MAGIC))
    except FileNotFoundError as error:
        do = "restore it, or say with path_remap where it is"
        raise NoSuchFile(str(path), expected="a file of tokens", found="no such file", do=do) from error
    if start == _NPY_MAGIC:
        do = "write its values with tofile, without a header"
        raise BadIndex(str(path), expected="raw tokens from the first byte", found="numpy's header", do=do)
