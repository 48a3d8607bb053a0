"""Which documents validate: 1 % by hash of the document's id, so that its side does not depend on its neighbours.

One exception keeps small repositories usable: of the first batch, the document with the smallest hash validates too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

VALIDATION_FRACTION: Final = 0.01
_HASH_BYTES: Final = 8
_THRESHOLD: Final = int(VALIDATION_FRACTION * 2 ** (8 * _HASH_BYTES))


def draw(doc_id: str) -> int:
    """A document's lot in [0, 2**64), from its (unsplit) id alone."""
    return int.from_bytes(hashlib.sha256(doc_id.encode()).digest()[:_HASH_BYTES], "big")


@dataclass(frozen=True, slots=True)
class Holdout:
    """Documents with a lot in the lowest 1 % validate, and the one called `chosen` ("" for none)."""

    chosen: str = ""

    def holds(self, doc_id: str) -> bool:
        """Whether the document called `doc_id` validates, with all its pieces."""
        return doc_id == self.chosen or draw(doc_id) < _THRESHOLD


def holdout_of(first_ids: Sequence[str]) -> Holdout:
    """The rule for a repository whose first documents are `first_ids`.

    With two or more documents at least one validates; a lone document follows the 1 % alone.
    """
    if len(first_ids) < 2:
        return Holdout()
    return Holdout(min(first_ids, key=draw))
