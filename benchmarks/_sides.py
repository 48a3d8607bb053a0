"""Two encoders taking turns, each in a process of its own: all that they share is the core that they are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from _cores import choose, hold
from _encoders import CONTESTANTS, Arrays, Texts
from _harness import cpu_seconds

Turn = Callable[[int], tuple[float, float]]
"""Both encode the portion of that number: CPU seconds for a megabyte, ours and the peer's. `Differs` if they do."""
_ARRAYS = ("ids", "character starts", "character ends")


class Differs(SystemExit):
    """Two encoders gave different ids or spans: their speed means nothing."""


@contextmanager
def rivals(ours: str, peer: str, path: Path, portions: Sequence[Texts]) -> Iterator[Turn]:
    """Two new processes with the tokenizer at `path` open: names are those of `CONTESTANTS`."""
    cores = choose(1)
    sizes = [sum(len(text.encode()) for text in texts) / 1e6 for texts in portions]
    with _started(ours, path, portions, cores) as mine, _started(peer, path, portions, cores) as theirs:

        def turn(portion: int) -> tuple[float, float]:
            (my_seconds, my_arrays), (their_seconds, their_arrays) = mine(portion), theirs(portion)
            require_same(my_arrays, their_arrays)
            return my_seconds / sizes[portion], their_seconds / sizes[portion]

        yield turn


def require_same(ours: Arrays, theirs: Arrays) -> None:
    """`Differs` unless both encodings have the same ids and, where they have them, the same character spans."""
    for name, mine, other in zip(_ARRAYS, ours, theirs, strict=False):
        if len(mine) != len(other):
            raise Differs(f"{name} differ: {len(mine)} and {len(other)} tokens")
        if len(wrong := np.flatnonzero(mine != other)):
            raise Differs(f"{name} differ at token {wrong[0]}: {mine[wrong[0]]} and {other[wrong[0]]}")


@contextmanager
def _started(
    name: str, path: Path, portions: Sequence[Texts], cores: Sequence[int]
) -> Iterator[Callable[[int], tuple[float, Arrays]]]:
    """A process that encodes the portions it is asked for; `SystemExit` if it has died."""
    context = get_context("spawn")
    link, far_end = context.Pipe()
    process = context.Process(target=_serve, args=(far_end, name, path, portions, cores), daemon=True)
    process.start()
    far_end.close()

    def encode(portion: int) -> tuple[float, Arrays]:
        try:
            link.send(portion)
            found: tuple[float, Arrays] = link.recv()
        except (EOFError, OSError):
            process.join()
            raise SystemExit(f"the process of {name} ended with status {process.exitcode}") from None
        return found

    try:
        yield encode
    finally:
        link.close()
        process.join()


def _append_encoded(found: list[object], encode: Callable[[Texts], object], texts: Texts) -> None:
    found.append(encode(texts))


def _serve(link: Connection, name: str, path: Path, portions: Sequence[Texts], cores: Sequence[int]) -> None:
    hold(cores)
    contestant = CONTESTANTS[name]
    encode = contestant.open(path)
    encode(["one"])  # What a first call imports and sets up is no encoding.
    while True:
        try:
            texts = portions[link.recv()]
        except EOFError:
            return
        found: list[object] = []
        seconds = cpu_seconds(partial(_append_encoded, found, encode, texts))
        link.send((seconds, contestant.arrays(found.pop())))
