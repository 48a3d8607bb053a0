"""A file of arms: what each trains on and how, after how many tokens it is measured, and from how many seeds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from megacpp_assets.contract.errors import SpecError

STARTS: Final = ("norm", "unit", "token", "gate")
"""How the structure embedding begins: a table whose vectors have a norm of about 1, as the model makes it, one of
standard deviation 1, one of 0.02 as the token embedding has, or the first behind component scales that begin at 0 (and
a projection that does not)."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train.

    `settings` are KEY=VALUE of a recipe; `dataset` names other documents, made in the same data root with the same
    tokenizer, and `mixture` another mixture than the plan's, such as a phase that blends in a dataset version; without
    `masks` a row is one document.
    """

    name: str
    settings: tuple[str, ...] = ()
    dataset: str = ""
    mixture: str = ""
    masks: bool = True
    start: str = STARTS[0]

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise SpecError(f"start of arm {self.name}", expected=" or ".join(STARTS), found=self.start)


@dataclass(frozen=True, slots=True)
class Plan:
    """Arms of which the first is what the others are compared with.

    `tokens` are the lengths in trained tokens, ascending. `rows` are the most held-out rows of each text. The average
    of the weights gives those of step t a weight in proportion to t ** `average`. With a `decay` the learning rate
    falls linearly to 0 in that last share of a run: each length is a run of its own, and its last weights are the
    average. Batches come in the order of seed `order` in every run, or where it is -1 of the seed of the weights: runs
    of one seed are pairs in both cases. `settings` are KEY=VALUE of the recipe for all arms; an arm's own come after.
    `measured_on` are the datasets whose held-out text every arm is measured on; none given is that of the first arm.
    """

    arms: tuple[Arm, ...]
    tokens: tuple[int, ...]
    seeds: tuple[int, ...]
    recipe: str = "upstream"
    mixture: str = "base/4k"
    rows: int = 32
    average: float = 8.0
    decay: float = 0.0
    order: int = -1
    settings: tuple[str, ...] = ()
    measured_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if not names or len(set(names)) < len(names):
            raise SpecError("arms", expected="at least one, each with a name of its own", found=names)
        if not self.tokens or list(self.tokens) != sorted(set(self.tokens)) or self.tokens[0] < 1:
            raise SpecError("tokens", expected="ascending numbers above zero", found=self.tokens)
        if not 0 <= self.decay <= 1:
            raise SpecError("decay", expected="0 to 1", found=self.decay)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SpecError("seeds", expected="at least one, each once", found=self.seeds)

    def order_of(self, seed: int) -> int:
        """The seed of the order of rows in a run from `seed`."""
        return seed if self.order < 0 else self.order


def read_plan(file: Path) -> Plan:
    """The plan in a file; a recipe that is a path is relative to it. `SpecError` for unknown or malformed keys."""
    try:
        arms_file = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(f"arms file {file}", expected="a TOML file", found=str(error)) from error
    arms = arms_file.pop("arm", [])
    if not isinstance(arms, list):
        raise SpecError("arm", expected="tables [[arm]]", found=arms)
    known = {each.name for each in fields(Plan)} - {"arms"}
    _require_known("key of the arms file", arms_file, known)
    if str(arms_file.get("recipe", "")).endswith(".toml"):
        arms_file["recipe"] = str(file.parent / arms_file["recipe"])
    lists = {"tokens": "whole numbers", "seeds": "whole numbers", "settings": "KEY=VALUE", "measured_on": "datasets"}
    for name, items in lists.items():
        if not isinstance(arms_file.setdefault(name, []), list):
            raise SpecError(name, expected=f"a list of {items}", found=arms_file[name])
        arms_file[name] = tuple(arms_file[name])
    return Plan(arms=tuple(_arm(each) for each in arms), **arms_file)


def _arm(arms_file: Mapping[str, Any]) -> Arm:
    _require_known("key of an arm", arms_file, {each.name for each in fields(Arm)})
    if not isinstance(arms_file.get("name"), str):
        raise SpecError("arm", expected="a name", found=arms_file)
    return Arm(**{**arms_file, "settings": tuple(arms_file.get("settings", ()))})


def _require_known(what: str, arms_file: Mapping[str, Any], known: set[str]) -> None:
    for name in arms_file:
        if name not in known:
            raise SpecError.unknown(what, name, sorted(known))
