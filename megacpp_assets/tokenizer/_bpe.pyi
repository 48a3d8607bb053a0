"""Types of the native kernels (`native/tokenizer/bindings.cpp`)."""

from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

class Trained(TypedDict):
    """Merges in the trainer's own ids, and facts of the loop."""

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    product: NDArray[np.uint32]
    counts: NDArray[np.int64]
    largest_count: int
    dropped: int

Tokens = tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]

def alphabet_id(byte: int) -> int: ...

class Splitter:
    def __init__(
        self,
        flags: Sequence[bool],
        classes: Sequence[tuple[int, int, int]],
        guards: Sequence[str],
        directives: Sequence[str],
        commands: Sequence[str],
        operators: Sequence[str],
    ) -> None: ...
    def split(self, text: bytes) -> list[bytes]: ...

Bytes = bytes

class Counter:
    def __init__(self, splitter: Splitter) -> None: ...
    def add(self, texts: Sequence[Bytes], threads: int = 1) -> None: ...
    def add_words(self, data: Bytes, lengths: NDArray[np.uint32], counts: NDArray[np.int64]) -> None: ...
    def dump(self) -> tuple[Bytes, NDArray[np.uint32], NDArray[np.int64]]: ...
    @property
    def unique(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def words(self) -> int: ...
    def train(
        self,
        new_tokens: int,
        min_count: int = 1,
        known: Sequence[Bytes] = ...,
        forbidden: Sequence[Bytes] = ...,
        progress: Callable[[int, int], None] | None = None,
    ) -> Trained: ...

class Encoder:
    def __init__(
        self,
        splitter: Splitter,
        tokens: Sequence[bytes],
        reachable: Sequence[int],
        left: NDArray[np.uint32],
        right: NDArray[np.uint32],
        product: NDArray[np.uint32],
        guard_ids: Sequence[int],
        bos: int,
        first_ordinary: int,
        threads: int = 1,
    ) -> None: ...
    def encode(self, texts: Sequence[str] | Sequence[bytes], threads: int = 1) -> Tokens: ...
    def encode_ids(
        self, texts: Sequence[str] | Sequence[bytes], threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_buffers(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], threads: int = 1) -> Tokens: ...
    def fertility(self, counter: Counter) -> dict[str, tuple[int, int, int]]: ...
    def decode(self, ids: NDArray[np.uint32]) -> bytes: ...
