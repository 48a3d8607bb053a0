from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def parse(
    library: str,
    path: str,
    arguments: Sequence[str],
    flags: int,
    cursor_limit: int,
    file: str = "",
    places: bool = False,
) -> dict[str, Any]: ...
def precompile(library: str, path: str, arguments: Sequence[str], flags: int, output: str) -> dict[str, Any]: ...
def paint(
    size: int, starts: NDArray[np.int64], ends: NDArray[np.int64], levels: NDArray[np.int64]
) -> NDArray[np.int32]: ...
def flattened(levels: NDArray[np.int64], ranges: NDArray[np.int64], flat: NDArray[np.int64]) -> NDArray[np.int64]: ...
def dependency_levels(offsets: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]: ...
def lex(code: bytes) -> dict[str, NDArray[Any]]: ...
def words(code: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def span_hashes(text: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]: ...
def name_hashes(spellings: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]: ...
def spread(records: NDArray[np.uint8], offset: int, owner: NDArray[np.int32], values: NDArray[np.uint8]) -> None: ...
def fill(
    records: NDArray[np.uint8],
    offset: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    values: NDArray[np.uint8],
) -> None: ...
def name_tokens(
    innermost: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    parent: NDArray[np.int32],
    call: NDArray[np.bool_],
    declares: NDArray[np.int32],
    uses: NDArray[np.int32],
    spelling: NDArray[np.uint64],
    climb: int,
    symbol: NDArray[np.int32],
    mode: NDArray[np.uint8],
    called: NDArray[np.int32],
) -> None: ...
def version(library: str) -> str: ...
def hash_text(text: bytes) -> int: ...
