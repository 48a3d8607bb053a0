"""How many tokens a file holds, of which type: Megatron pairs by their index, bare files by their size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from megacpp_assets.contract.megatron_files import BIN
from megacpp_assets.loader.grain.refusals import BadArgument, BadIndex, NoSuchFile
from megacpp_assets.megatron.reader import open_bin_idx

_NPY_MAGIC: Final = b"\x93NUMPY"


def read_pair_header(path: str) -> tuple[str, tuple[int, ...]]:
    """(dtype, (tokens,)) of a Megatron `.bin`, whose `.idx` lies beside it and is read strictly.

    `BadArgument` for another suffix, `IndexCorrupt` for a pair that contradicts itself.
    """
    if not path.endswith(BIN):
        do = "name the .bin of a pair, or read bare files with raw_header_reader"
        raise BadArgument(path, expected=f"a name that ends with {BIN}", found=Path(path).name, do=do)
    tokens = open_bin_idx(Path(path.removesuffix(BIN))).tokens
    return tokens.dtype.name, tokens.shape


def raw_header_reader(dtype: str) -> Callable[[str], tuple[str, tuple[int, ...]]]:
    """A reader of files that hold nothing but little-endian values of `dtype`, whatever their suffix."""

    def read(path: str) -> tuple[str, tuple[int, ...]]:
        refuse_npy(Path(path))
        size, width = Path(path).stat().st_size, np.dtype(dtype).itemsize
        if size % width:
            do = "name the type that it was written with"
            raise BadIndex(path, expected=f"whole values of {dtype}, {width} bytes each", found=f"{size} bytes", do=do)
        return dtype, (size // width,)

    return read


def refuse_npy(path: Path) -> None:
    """`BadIndex` for a file that numpy.save wrote, whose header would be taken for tokens; `NoSuchFile` for none."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_NPY_MAGIC))
    except FileNotFoundError as error:
        do = "restore it, or say with path_remap where it is"
        raise NoSuchFile(str(path), expected="a file of tokens", found="no such file", do=do) from error
    if start == _NPY_MAGIC:
        do = "write its values with tofile, without a header"
        raise BadIndex(str(path), expected="bare tokens from the first byte", found="numpy's header", do=do)
