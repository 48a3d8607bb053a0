"""The range that docs/recipes.md says of a numeric key is the range that a recipe is checked with."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from typing import Any, Final, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key, notes
from megacpp_assets.contract.recipe.rows import PhaseRecipe
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.whole import Recipe

_PHASE: Final = "phases.16k."
_MINIMUM: Final = re.compile(r"(?P<open>above |at least |)(?P<least>[0-9._]+)( to |, at most |;|$)")


def _numbers() -> dict[str, tuple[type, str]]:
    """Type and documented values of each numeric key."""
    hints = {f"{_PHASE}{name}": hint for name, hint in get_type_hints(PhaseRecipe).items()}
    for entry in fields(Recipe):
        section = get_type_hints(Recipe)[entry.name]
        if is_dataclass(section) and isinstance(section, type):
            hints |= {f"{entry.name}.{name}": hint for name, hint in get_type_hints(section).items()}
    described = [*notes(Recipe), *notes(PhaseRecipe, _PHASE)]
    return {path: (hints[path], note.allowed) for path, _, note in described if hints.get(path) in (int, float)}


NUMBERS: Final = _numbers()


def _documented_minimum(allowed: str) -> float:
    """The smallest number of a text such as "at least 4", "0.1 to 1" or "0, or 1 to 16"; -inf if it has no bound."""
    if allowed in ("any finite number", "any whole number"):
        return -math.inf
    zero, rest = allowed.startswith("0, or "), allowed.removeprefix("0, or ")
    match = _MINIMUM.match(rest)
    assert match is not None, f"no minimum in {allowed!r}"
    return 0.0 if zero else float(match["least"])


BOUNDED: Final = sorted(name for name, (_, allowed) in NUMBERS.items() if _documented_minimum(allowed) > -math.inf)


def _require_rejected(name: str, value: object) -> None:
    with pytest.raises(SpecError, match=rf"{re.escape(name)}; expected "):
        load_recipe("sample", (f"{name}={value}",))


def test_every_section_has_numeric_keys_with_a_documented_range() -> None:
    sections = {name.partition(".")[0] for name in NUMBERS}
    assert len(NUMBERS) > 80 and sections >= {"sources", "semantic", "training", "promotion", "launch", "phases"}


@given(st.sampled_from(BOUNDED), st.data())
def test_a_number_below_the_documented_minimum_is_rejected_by_its_key(name: str, data: Any) -> None:
    kind, allowed = NUMBERS[name]
    least = _documented_minimum(allowed)
    below = (
        st.integers(max_value=math.ceil(least) - 1)
        if kind is int
        else st.floats(max_value=least, exclude_max=True, allow_infinity=False)
    )
    _require_rejected(name, data.draw(below))


@pytest.mark.parametrize("name", [name for name, (kind, _) in NUMBERS.items() if kind is float])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_number_that_is_not_finite_is_rejected_by_its_key(name: str, value: str) -> None:
    _require_rejected(name, value)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("training.softcap=inf", "training.softcap; expected a finite number: at least 0; found inf"),
        ("training.learning_rate=-1", "training.learning_rate; expected at least 0; found -1"),
        ("training.warmup_steps=-5", "training.warmup_steps; expected at least 0; found -5"),
        ("training.gradient_clip=0", "training.gradient_clip; expected above 0; found 0"),
        ("semantic.dependency_depth=-1", "semantic.dependency_depth; expected at least 0; found -1"),
        ("training.structure_bottleneck=-1", "training.structure_bottleneck; expected at least 1; found -1"),
        ("semantic.chars_per_token=0.5", "semantic.chars_per_token; expected 0, or 1 to 16; found 0.5"),
        ("training.decay_share=1.5", "training.decay_share; expected above 0, at most 1; found 1.5"),
        ("training.seed=18446744073709551616", "training.seed; expected a number of at most 64 bits"),
        ("phases.16k.row_tokens=2097152", "phases.16k.row_tokens; expected 4096 to 1_048_576; at least"),
    ],
)
def test_the_error_of_a_number_says_the_documented_range(setting: str, words: str) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        load_recipe("sample", (setting,))


def test_a_word_that_is_almost_right_is_shown_the_right_one() -> None:
    with pytest.raises(SpecError, match=r"training\.device; did you mean `cuda`\?; expected cpu or cuda or tpu"):
        load_recipe("sample", ("training.device=cdua",))


def test_a_numeric_key_without_a_range_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="needs a range of allowed numbers"):
        key(3, "A number.", allowed="a number")
