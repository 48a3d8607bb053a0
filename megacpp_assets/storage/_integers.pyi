from typing import Any

from numpy.typing import NDArray

def integers(json: bytes, at: int, width: int) -> tuple[NDArray[Any], int] | None: ...
