"""The command lines of the benchmarks: what is wrong with one is said in a sentence, never by a traceback."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence

from megacpp_assets.contract.errors import MegacppError


def positive(text: str) -> int:
    """The whole number above zero in `text`, as argparse asks for it."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ArgumentTypeError(f"expected a whole number above zero, found {text!r}")
    return int(text)


def run(main: Callable[[Sequence[str]], None]) -> None:
    """`main` with this process's arguments; an error of ours is its last line."""
    try:
        main(sys.argv[1:])
    except MegacppError as error:
        sys.exit(str(error))
