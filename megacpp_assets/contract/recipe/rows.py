"""What a recipe says about rows: the phases of the curriculum, and how documents are packed into their rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.key import key, require_allowed, required, table
from megacpp_assets.contract.recipe.ranges import at_least, between

DATASET_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
PACKING_STRATEGIES: Final = ("best_fit", "first_fit", "sequential")
TOKEN_DTYPES: Final = ("int32", "narrowest")
OVERFLOWS: Final = ("refuse", "split", "file")
STRUCTURE_PHASE: Final = "structure"
_MOST_ROW_TOKENS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PhaseRecipe:
    """A phase of the curriculum: rows of one length, filled with documents made for one budget."""

    row_tokens: int = required(
        "Length of a row.",
        allowed=between(
            DOCUMENT_TOKENS, _MOST_ROW_TOKENS, also="at least document_tokens, if packing.overflow is refuse"
        ),
    )
    document_tokens: int = key(
        DOCUMENT_TOKENS,
        "Largest number of tokens in a document.",
        allowed=at_least(DOCUMENT_TOKENS),
        unit="tokens",
    )
    dataset_version: str = key(
        "",
        'First part of the names of the Megatron files, before _train.bin. "" takes the name of the dataset.',
        allowed='"", or 1 to 100 letters, digits, "_" and "-"',
    )
    structure_aware: bool = key(
        False,
        "Train with relation bias and messages between chunks, and with all structure channels if "
        "training.structure_components is core. Later phases that start from its weights do the same.",
        allowed="true or false",
    )
    blend: Mapping[str, float] = table(
        dict,
        "Other phases and dataset versions whose documents this phase takes too, with their sampling weights.",
        allowed="phases with shorter documents, v2_simple, v2_doxygen, v3_simple, v3_doxygen, v4, v5; positive numbers",
    )

    def problem(self, *, longer: bool) -> tuple[str, str, object] | None:
        """Return (key, expected, found) of the first value that does not fit another; `longer` if documents may be
        longer than rows.
        """
        if not longer and self.row_tokens < self.document_tokens:
            why = "its document_tokens, as packing.overflow is refuse"
            return "row_tokens", f"{self.document_tokens} ({why}) to {_MOST_ROW_TOKENS}", self.row_tokens
        if self.dataset_version and not DATASET_NAME.fullmatch(self.dataset_version):
            return "dataset_version", "1 to 100 letters, digits, '_' and '-'", repr(self.dataset_version)
        return None


def standard_phases() -> dict[str, PhaseRecipe]:
    """Return the phases that every recipe has; it may change them and add others."""
    tokens = {"4k": 4096, "16k": 16_384, "64k": 65_536, STRUCTURE_PHASE: 4096}
    return {
        name: PhaseRecipe(row_tokens=each, document_tokens=each, structure_aware=name == STRUCTURE_PHASE)
        for name, each in tokens.items()
    }


@dataclass(frozen=True, slots=True)
class PackingRecipe:
    """How documents are packed into rows. No document is cropped."""

    strategy: str = key(
        "best_fit", 'How documents are assigned to rows. "sequential" keeps their order.', allowed=PACKING_STRATEGIES
    )
    overflow: str = key(
        "refuse",
        'What to do with a document longer than a row: stop the run ("refuse"), split it between chunks, or write '
        "it to a file beside the rows.",
        allowed=OVERFLOWS,
    )
    fim_rate: float = key(
        0.0, "Share of training documents that are rearranged for fill-in-the-middle.", allowed=between(0, 1)
    )
    fim_spm: float = key(
        0.5, "Share of the rearranged documents that have the order suffix, prefix, middle.", allowed=between(0, 1)
    )

    def __post_init__(self) -> None:
        require_allowed(self, "packing")


@dataclass(frozen=True, slots=True)
class MegatronRecipe:
    """The Megatron files."""

    token_dtype: str = key(
        "int32",
        'Type of the tokens in the .bin files. "narrowest" has two bytes for a vocabulary below 65,500 ids, as '
        "Megatron chooses.",
        allowed=TOKEN_DTYPES,
    )

    def __post_init__(self) -> None:
        require_allowed(self, "megatron")
