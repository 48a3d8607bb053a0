"""Held-out definitions in what trains: those that could not be alike by chance."""

from __future__ import annotations

import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.quality.reading.leaks import LeakDetector

COMMENT = "// Gets the content of the stringstream's buffer as an std::string; each zero is shown as two signs.\n" * 2
LINE = "GTEST_API_ std::string StringStreamToString(::std::stringstream* stream);"
FUNCTION = "int sum(const int* from, int count) {\n" + "".join(
    f"  const int part_{number} = from[{number}] + count;\n" for number in range(6)
) + "  return part_0;\n}\n"  # fmt: skip


def held_out(text: str) -> dict[str, object]:
    size = len(text.encode())
    place = {"filepath": "a/held.cc", "byte_start": 0, "byte_end": size}
    part = {**place, "role": ROOT_ROLE, "char_start": 0, "char_end": len(text)}
    return {c.TEXT: text, c.CONSTITUENTS: [part]}


@pytest.mark.parametrize(
    ("text", "leaked", "held"),
    [(FUNCTION, len(FUNCTION), len(FUNCTION)), (COMMENT + LINE, 0, 0)],
    ids=["a function", "a line below a long comment, for which no document stays out of training"],
)
def test_a_definition_that_trains_as_well_is_reported_unless_it_says_too_little(
    text: str, leaked: int, held: int
) -> None:
    detector = LeakDetector([held_out(text)])
    detector.add_training_text(f"namespace other {{\n{text}}}\n")
    first = f"bytes 0 to {leaked} of a/held.cc" if leaked else ""
    assert detector.leaked() == (leaked, held, first)
    assert detector.leaked().is_allowed == (not leaked) and str(detector.leaked()).endswith(
        first or "in training documents"
    )
