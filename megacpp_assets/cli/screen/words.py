"""Words in the output of commands."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 repository`, `2 repositories`, `1,000 steps`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
