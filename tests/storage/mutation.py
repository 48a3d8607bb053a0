"""Damage of every kind that a disk, a copy or a hand does to a file."""

from __future__ import annotations

import random


def mutated(data: bytes, chance: random.Random) -> bytes:
    """`data` with a bit flipped, a part cut off, doubled, zeroed or appended."""
    kind, place = chance.choice(["bit", "cut", "double", "zero", "append"]), chance.randrange(len(data))
    if kind == "bit":
        return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    if kind == "zero":
        return data[:place] + bytes(len(data[place : place + 64])) + data[place + 64 :]
    return {"cut": data[:place], "double": data * 2, "append": data + b"\0" * (1 + place % 9)}[kind]
