"""Recipes as TOML: read strictly, changed key by key, compared, and written whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

import tomlkit

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.rows import standard_phases
from megacpp_assets.contract.recipe.whole import Recipe

SHIPPED: Final = ("sample", "smoke", "upstream", "upstream_1gpu", "upstream_8gpu")
"""Recipes that come with the package, as examples of the schema."""
_BYTES: Final = 1 << 20
"""No recipe of a person is as large as this."""


def load_recipe(name: str, settings: Sequence[str] = ()) -> Recipe:
    """The shipped recipe `name`, or that of the file at the path `name`, with `settings` of the form `KEY=VALUE`.

    `SpecError` with the path of the key, what was expected and what was found: for a name that is neither, TOML that is
    none, an unknown key, a value of another type, and one that cannot be.
    """
    text, where = _text(name)
    raw = _toml(text, where)
    for setting in settings:
        _set(raw, setting)
    if "://" in str(raw.get("catalogue", "")):
        # Not echoed: it may hold a password.
        raise SpecError(f"{where}: catalogue", expected="a shipped one, or the path of a file", found="a URL")
    if "/" in str(raw.get("catalogue", "")) or str(raw.get("catalogue", "")).endswith(".toml"):
        raw["catalogue"] = str((Path(name).parent / raw["catalogue"]).resolve())
    return parse_recipe(raw, where)


def changed_recipe(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """`recipe` with `settings` of the form `KEY=VALUE`. `SpecError` as for a file."""
    raw = _toml(recipe_toml(recipe), "recipe")
    for setting in settings:
        _set(raw, setting)
    return parse_recipe(raw, "recipe")


def parse_recipe(raw: Mapping[str, Any], where: str) -> Recipe:
    """The recipe that the tables of a TOML file say. `SpecError` naming `where` and each key whose value is wrong."""
    # Imported here: it costs a tenth of a second, and `megacpp --help` reads no recipe.
    from pydantic import ValidationError  # noqa: PLC0415

    tables = _with_standard_phases(raw)
    faults: list[SpecError] = []
    try:
        valid = _model(Recipe).model_validate(tables)
    except ValidationError as error:
        faults += map(_fault, error.errors())
        valid = _valid_rest(tables, error.errors())
    recipe: Recipe | None = None if valid is None else _build(Recipe, valid, faults)
    if faults or recipe is None:
        raise _one_error(faults, where)
    return recipe


def _valid_rest(tables: Mapping[str, Any], told: Sequence[Mapping[str, Any]]) -> Any:
    """The model of `tables` without the keys that are wrong, so that other faults show; None if there is none."""
    from pydantic import ValidationError  # noqa: PLC0415

    rest = deepcopy(dict(tables))
    for fault in told:
        # A table that lacks a key is left out whole.
        path = fault["loc"][:-1] if fault["type"] == "missing" else fault["loc"]
        _leave_out(rest, path)
    try:
        return _model(Recipe).model_validate(rest)
    except ValidationError:
        return None


def _leave_out(tables: dict[str, Any], path: Sequence[Any]) -> None:
    """Remove the key at `path`; of a list that has a wrong item, the list."""
    for name in path[:-1]:
        inner = tables.get(name)
        if not isinstance(inner, dict):
            tables.pop(name, None)
            return
        tables = inner
    if path:
        tables.pop(path[-1], None)


def _one_error(faults: Sequence[SpecError], where: str) -> SpecError:
    if len(faults) == 1:
        return faults[0].within(where)
    return SpecError("\n  ".join([f"{where}: {len(faults)} values are wrong", *map(str, faults)]))


def recipe_toml(recipe: Recipe) -> str:
    """Every key of the recipe with its value, defaults included, in one byte form; `parse_recipe` gives it back."""
    document: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else value for key, value in asdict(recipe).items()
    }
    for key in ("phases", "specialists", "stand_ins"):
        document[key] = {name: document[key][name] for name in sorted(document[key])}
    for phase in document["phases"].values():
        phase["blend"] = _inline(phase["blend"])
    document["mixture"]["categories"] = _inline(document["mixture"]["categories"])
    document["promotion"]["failed_units"] = dict(sorted(recipe.promotion.failed_units.items()))
    return tomlkit.dumps(document)


def _inline(table: Mapping[str, Any]) -> Any:
    inline = tomlkit.inline_table()
    for key in sorted(table):
        inline.append(key, table[key])
    return inline


def recipe_sha256(recipe: Recipe) -> str:
    """Identity of a recipe: the hash of all that it says, however it was written."""
    return sha256_bytes(recipe_toml(recipe).encode())


def differences(one: Recipe, other: Recipe) -> Iterator[tuple[str, Any, Any]]:
    """(key path, value in `one`, value in `other`) wherever they differ."""
    first, second = _flat(asdict(one)), _flat(asdict(other))
    for key in [*first, *(key for key in second if key not in first)]:
        if first.get(key) != second.get(key):
            yield key, first.get(key), second.get(key)


def _text(name: str) -> tuple[str, str]:
    if name in SHIPPED:
        file = resources.files("megacpp_assets").joinpath("recipes", f"{name}.toml")
        return file.read_text(encoding="utf-8"), f"recipe {name}"
    try:
        with Path(name).open("rb") as stream:
            data = stream.read(_BYTES + 1)
        if len(data) > _BYTES:
            raise SpecError(f"recipe {name}", expected=f"at most {_BYTES:,} bytes", found="more")
        return data.decode(), name
    except (OSError, UnicodeDecodeError) as error:
        expected = f"one of {', '.join(SHIPPED)}, or the path of a TOML file in UTF-8"
        found = (error.strerror if isinstance(error, OSError) else "") or str(error)
        close = "".join(get_close_matches(name, SHIPPED, n=1))
        raise SpecError(f"recipe {name!r}", expected=expected, found=found, closest=close) from error


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(where, expected="TOML", found=str(error)) from error


def _set(raw: dict[str, Any], setting: str) -> None:
    """Apply `KEY=VALUE`, the key dotted; the value is TOML, or a text where it is none."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise SpecError("--set", expected="KEY=VALUE, such as training.steps=2000", found=repr(setting))
    *tables, last = key.strip().split(".")
    place = raw
    for table in tables:
        place = place.setdefault(table, {})
        if not isinstance(place, dict):
            raise SpecError(f"--set {key}", expected="a key of a section", found=f"{table}, which is a value")
    try:
        place[last] = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        place[last] = text


@cache
def _model(kind: Any) -> Any:
    """A strict pydantic model with the fields of the dataclass `kind`."""
    from pydantic import ConfigDict, Field, create_model  # noqa: PLC0415

    hints = get_type_hints(kind)
    members: dict[str, Any] = {}
    for entry in fields(kind):
        hint: Any = hints[entry.name]
        if is_dataclass(hint):
            section = _model(hint)  # type: ignore[arg-type]
            members[entry.name] = (section, section())
        elif get_origin(hint) is Mapping:
            members[entry.name] = (_table(hint), Field(default_factory=dict))
        elif hint == tuple[str, ...]:
            members[entry.name] = (list[str], ... if entry.default is MISSING else list(entry.default))
        else:
            members[entry.name] = (hint, ... if entry.default is MISSING else entry.default)
    return create_model(kind.__name__, __config__=ConfigDict(strict=True, extra="forbid"), **members)


def _table(hint: Any) -> Any:
    """The type of a table whose keys a person chooses."""
    _, value = get_args(hint)
    if value == tuple[str, ...]:
        return dict[str, list[str]]
    if get_origin(value) is Mapping:
        return dict[str, _table(value)]  # type: ignore[misc]
    return dict[str, _model(value) if is_dataclass(value) else value]  # type: ignore[misc, arg-type]


def _build(kind: Any, valid: Any, faults: list[SpecError]) -> Any:
    """The dataclass `kind` with the values of its model, which checks what a type cannot say; errors go to `faults`."""
    hints = get_type_hints(kind)
    values = {}
    for entry in fields(kind):
        value = getattr(valid, entry.name)
        if is_dataclass(hints[entry.name]):
            value = _build(hints[entry.name], value, faults) or _default(entry)
        elif isinstance(value, dict):
            _, held = get_args(hints[entry.name])
            built = {
                name: _build(held, each, faults) if is_dataclass(held) else _frozen(each)
                for name, each in value.items()
            }
            value = {name: each for name, each in built.items() if each is not None}
        values[entry.name] = _frozen(value)
    return _made(kind, values, faults)


def _made(kind: Any, values: dict[str, Any], faults: list[SpecError]) -> Any:
    """`kind` with `values`; one that it rejects is a fault and replaced by the default, so that the next fault shows.
    None where that does not help."""
    defaults = {entry.name: _default(entry) for entry in fields(kind)}
    while True:
        try:
            return kind(**values)
        except SpecError as error:
            faults.append(error)
            key = next((part for part in re.split(r"[.\s]", error.what) if part in values), "")
            if defaults.get(key, MISSING) in (MISSING, values.get(key)):
                return None
            values[key] = defaults[key]


def _default(entry: Field[Any]) -> Any:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _with_standard_phases(raw: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` with the phases that every recipe has; of each, its own keys replace the standard ones."""
    told = raw.get("phases", {})
    if not isinstance(told, dict):
        return dict(raw)
    phases: dict[str, Any] = {name: asdict(phase) for name, phase in standard_phases().items()}
    for name, table in told.items():
        phases[name] = {**phases.get(name, {}), **table} if isinstance(table, dict) else table
    return {**raw, "phases": phases}


def _fault(told: Mapping[str, Any]) -> SpecError:
    """The error for a fault that pydantic found; its object is the dotted key."""
    path, do = ".".join(map(str, told["loc"])), "megacpp recipe show sample lists every key"
    if told["type"] == "extra_forbidden":
        return _unknown_key(path, do)
    if told["type"] == "missing":
        return SpecError(path, expected="a value", found="nothing", do=do)
    expected = str(told["msg"]).removeprefix("Input should be ")
    return SpecError(path, expected=expected, found=repr(told["input"]), do=do)


def _unknown_key(path: str, do: str) -> SpecError:
    """Names the key of that name in another section, or the closest of the section; else the keys of the section."""
    table, _, last = path.rpartition(".")
    names = [entry.name for entry in fields(_section(path))]
    close = [key for key in key_paths() if key.rpartition(".")[2] == last]
    close = close or [f"{table}.{name}".lstrip(".") for name in get_close_matches(last, names, n=1, cutoff=0.7)]
    if close:
        return SpecError(path, found="an unknown key", do=do, closest=close[0])
    return SpecError(path, expected=f"one of {', '.join(names)}", found="an unknown key", do=do)


def key_paths(kind: Any = Recipe, prefix: str = "") -> Iterator[str]:
    """Every key that a recipe has in any case, dotted: sections and their keys, but not names that a person chooses."""
    hints = get_type_hints(kind)
    for entry in fields(kind):
        yield prefix + entry.name
        if is_dataclass(hints[entry.name]):
            yield from key_paths(hints[entry.name], f"{prefix}{entry.name}.")


def _section(path: str) -> Any:
    """The dataclass that holds the key at `path`."""
    if "." not in path:
        return Recipe
    hint = get_type_hints(Recipe)[path.split(".", maxsplit=1)[0]]
    return get_args(hint)[1] if get_origin(hint) is Mapping else hint


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found
