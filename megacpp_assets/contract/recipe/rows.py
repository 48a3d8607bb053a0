"""What a recipe says about rows: the phases of the curriculum, and how documents are packed into their rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import DOCUMENT_TOKENS

DATASET_NAME: Final = re.compile(r"[A-Za-z0-9_]{1,100}")
PACKING_STRATEGIES: Final = ("best_fit", "first_fit", "sequential")
TOKEN_DTYPES: Final = ("int32", "narrowest")
OVERFLOWS: Final = ("refuse", "split", "file")
_MOST_ROW_TOKENS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PhaseRecipe:
    """A phase of the curriculum: rows of `row_tokens` tokens, filled with documents of at most `document_tokens`, the
    budget that they are made for.

    `blend` names other phases whose documents it takes too, and how often: short ones among long, so that what an
    earlier phase taught is not lost. One that its own documents have word for word is not taken again.

    `dataset_version` names its Megatron files, as in `<dataset_version>_train.bin`; "" is the name of the dataset.
    """

    row_tokens: int
    document_tokens: int = DOCUMENT_TOKENS
    dataset_version: str = ""
    blend: Mapping[str, float] = field(default_factory=dict)

    def problem(self, *, longer: bool) -> tuple[str, str, object] | None:
        """(key, expected, found) of the first value that cannot be; `longer` if documents may be longer than rows."""
        if not DOCUMENT_TOKENS <= self.document_tokens:
            return "document_tokens", f"at least {DOCUMENT_TOKENS}", self.document_tokens
        least = DOCUMENT_TOKENS if longer else self.document_tokens
        if not least <= self.row_tokens <= _MOST_ROW_TOKENS:
            why = "" if longer else " (its document_tokens, as packing.overflow is refuse)"
            return "row_tokens", f"{least}{why} to {_MOST_ROW_TOKENS}", self.row_tokens
        if self.dataset_version and not DATASET_NAME.fullmatch(self.dataset_version):
            return "dataset_version", "1 to 100 letters, digits and '_'", repr(self.dataset_version)
        return None


def standard_phases() -> dict[str, PhaseRecipe]:
    """The phases that every recipe has; it may change them and add others."""
    tokens = {"4k": 4096, "16k": 16_384, "64k": 65_536, "structure": 4096}
    return {name: PhaseRecipe(row_tokens=each, document_tokens=each) for name, each in tokens.items()}


@dataclass(frozen=True, slots=True)
class PackingRecipe:
    """`strategy` by which documents share rows, and what becomes of one that no row holds (`overflow`).

    It stops the run (`refuse`), is cut where tokens are counted, at chunks and then at breaks (`split`), or stays whole
    in a file beside the rows, which do not have it (`file`). Nothing is ever cropped.

    A share `fim_rate` of training documents is rearranged to fill in the middle, from a chunk's start to a chunk's end:
    prefix, suffix, middle, or, for a share `fim_spm` of those, suffix, prefix and middle. Each time that a mixture
    takes a document is another draw.
    """

    strategy: str = "best_fit"
    overflow: str = "refuse"
    fim_rate: float = 0.0
    fim_spm: float = 0.5

    def __post_init__(self) -> None:
        for name, known in (("strategy", PACKING_STRATEGIES), ("overflow", OVERFLOWS)):
            value = getattr(self, name)
            if value not in known:
                raise SpecError(f"packing.{name}", expected=" or ".join(known), found=repr(value))
        for name in ("fim_rate", "fim_spm"):
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(f"packing.{name}", expected="0 to 1", found=getattr(self, name))


@dataclass(frozen=True, slots=True)
class MegatronRecipe:
    """`token_dtype` of the .bin files: `int32`, or `narrowest`: two bytes where Megatron itself takes two, below 65,500
    ids."""

    token_dtype: str = "int32"

    def __post_init__(self) -> None:
        if self.token_dtype not in TOKEN_DTYPES:
            expected = " or ".join(TOKEN_DTYPES)
            raise SpecError("megatron.token_dtype", expected=expected, found=repr(self.token_dtype))
