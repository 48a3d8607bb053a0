from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.documents.context.facts import ContextFacts

_Items = frozenset[tuple[int, int]]

class Price:
    def __init__(self, least: float, spare: int) -> None: ...
    def is_affordable(self, worth: float, chars: int) -> bool: ...
    def take(self, worth: float, chars: int) -> None: ...
    @property
    def taken(self) -> dict[float, int]: ...

class ContextSearch:
    def __init__(
        self,
        facts: ContextFacts,
        items: NDArray[np.int32],
        ends: NDArray[np.int32],
        declarations: int,
        bodies: int,
        callers: bool,
    ) -> None: ...
    def choose(
        self,
        roots: Sequence[tuple[int, int, int, int, int]],
        opened: Sequence[tuple[int, Sequence[int]]],
        room: tuple[int, int],
        price: Price,
        limits: tuple[_Items, _Items, _Items],
        is_c: bool,
    ) -> tuple[
        Sequence[tuple[int, int, Sequence[int], bool]],
        Sequence[tuple[int, Sequence[int]]],
        dict[float, int],
        bool,
    ]: ...
    def chars(self, item: int, members: Sequence[int], shown: Sequence[int]) -> int: ...
