"""Reads recipes from TOML strictly, changes single keys, compares recipes, and writes them completely."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from datetime import date, time
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

import tomlkit

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError, closest_name
from megacpp_assets.contract.recipe.curation import HASHED_FILE, HASHED_FILES, SCORER_FILES
from megacpp_assets.contract.recipe.names_used import name_faults, repositories_used
from megacpp_assets.contract.recipe.rows import standard_phases
from megacpp_assets.contract.recipe.spellings import own_spelling, with_own_spellings
from megacpp_assets.contract.recipe.whole import Recipe

SHIPPED: Final = ("sample", "smoke", "upstream", "upstream_1gpu", "upstream_8gpu", "upstream_history")
"""Recipes that come with the package, as examples of the schema."""
_BYTES: Final = 1 << 20
"""The largest accepted file. A recipe written by a person is much smaller."""
_KEYS: Final = "megacpp recipe show sample lists every key with its allowed values"
_SHOWN: Final = 100
"""The most characters of a wrong value in a message."""
_TYPES: Final = {"list_type": 'a list, such as ["one", "two"]', "model_type": "a table of keys", "dict_type": "a table"}
"""What an error of pydantic expects, in the words of TOML."""


Faults = Callable[[Recipe], Iterable[SpecError]]
"""Finds faults of values that are valid alone."""


def _no_faults(recipe: Recipe) -> tuple[SpecError, ...]:
    del recipe
    return ()


def load_recipe(name: str, settings: Sequence[str] = (), further: Faults = _no_faults) -> Recipe:
    """Load the shipped recipe `name`, or the file at the path `name`, and apply `settings` of the form `KEY=VALUE`.

    Raises `SpecError` if the name is unknown or the TOML is malformed. It names every key that is unknown or whose
    value is invalid, and what `further` finds.
    """
    text, where = _text(name)
    raw = with_own_spellings(_toml(text, where))
    for setting in settings:
        _set(raw, setting)
    if "://" in str(raw.get("catalogue", "")):
        # Not echoed: it may hold a password.
        raise SpecError(f"{where}: catalogue", expected="a shipped one, or the path of a file", found="a URL")
    if "/" in str(raw.get("catalogue", "")) or str(raw.get("catalogue", "")).endswith(".toml"):
        raw["catalogue"] = str((Path(name).parent / raw["catalogue"]).resolve())
    _find_hashed_files(raw, Path(name).parent)
    return _parsed(raw, where, lambda recipe: (*name_faults(recipe), *further(recipe)))


def _find_hashed_files(raw: dict[str, Any], folder: Path) -> None:
    """Make the paths of hashed files absolute: from the recipe's folder, as for its catalogue. Other lines stay.

    The words of the scorer's command that are such a path become the same: what runs is the file whose hash is checked.
    """
    section = raw.get("curation")
    if not isinstance(section, dict):
        return
    for key in HASHED_FILES:
        if isinstance(lines := section.get(key), list):
            places = {path: str((folder / path).resolve()) for path in filter(None, map(_relative_path, lines))}
            section[key] = [_with_path(line, places) for line in lines]
            if key == SCORER_FILES and isinstance(command := section.get("scorer"), list):
                section["scorer"] = [places.get(word, word) if isinstance(word, str) else word for word in command]


def _relative_path(line: object) -> str:
    match = HASHED_FILE.fullmatch(line) if isinstance(line, str) else None
    return match[2] if match and not match[2].startswith("/") else ""


def _with_path(line: object, places: Mapping[str, str]) -> object:
    path = _relative_path(line)
    return f"{str(line).removesuffix(path)}{places[path]}" if path else line


def changed_recipe(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """Return `recipe` with `settings` of the form `KEY=VALUE`. Raises `SpecError` like `load_recipe`.

    Repositories that `recipe` already names stay allowed: `--repos` makes a recipe for some repositories of another.
    """
    raw = _toml(recipe_toml(recipe), "recipe")
    for setting in settings:
        _set(raw, setting)
    named = {name for _, name in repositories_used(recipe)}
    return _parsed(raw, "recipe", lambda changed: name_faults(changed, named))


def parse_recipe(raw: Mapping[str, Any], where: str) -> Recipe:
    """Build a recipe from the tables of a TOML file. Raises `SpecError`, which names `where` and every invalid key."""
    return _parsed(raw, where, _no_faults)


def _parsed(raw: Mapping[str, Any], where: str, further: Faults) -> Recipe:
    """Build a recipe like `parse_recipe`. Faults of `further` are named too."""
    # Imported here: it costs a tenth of a second, and `megacpp --help` reads no recipe.
    from pydantic import ValidationError  # noqa: PLC0415

    tables = _with_standard_phases(with_own_spellings(raw))
    faults: list[SpecError] = []
    try:
        valid = _model(Recipe).model_validate(tables)
    except ValidationError as error:
        faults += map(_fault, error.errors())
        valid = _valid_rest(tables, error.errors())
    recipe: Recipe | None = None if valid is None else _build(Recipe, valid, faults)
    if recipe is not None:
        faults += further(recipe)
    if faults or recipe is None:
        raise _one_error(faults, where, tables.get("phases"))
    return recipe


def _valid_rest(tables: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> Any:
    """Return the model of `tables` without the invalid keys, so that further faults are found; None if that fails."""
    from pydantic import ValidationError  # noqa: PLC0415

    rest = deepcopy(dict(tables))
    for fault in errors:
        # A table with a missing key is removed completely.
        path = fault["loc"][:-1] if fault["type"] == "missing" else fault["loc"]
        _leave_out(rest, path)
    try:
        return _model(Recipe).model_validate(rest)
    except ValidationError:
        return None


def _leave_out(tables: dict[str, Any], path: Sequence[Any]) -> None:
    """Remove the key at `path`. If `path` names an item of a list, the list is removed."""
    for name in path[:-1]:
        inner = tables.get(name)
        if not isinstance(inner, dict):
            tables.pop(name, None)
            return
        tables = inner
    if path:
        tables.pop(path[-1], None)


def _one_error(faults: Sequence[SpecError], where: str, phases: object) -> SpecError:
    """Return the error for `faults`, the first of each key: the default that replaced its value may be wrong too."""
    # If a table of `phases` has a fault, all were left out, so the curriculum does not know those of the recipe.
    defined = phases if isinstance(phases, dict) and any(fault.what.startswith("phases") for fault in faults) else ()
    consequences = {f"curriculum {name!r}" for name in defined}
    first: dict[str, SpecError] = {}
    for fault in faults:
        if fault.what not in consequences:
            first.setdefault(fault.what, fault)
    if len(first) == 1:
        return next(iter(first.values())).within(where, _KEYS)
    return SpecError("\n  ".join([f"{where}: {len(first)} values are wrong", *map(str, first.values())]), do=_KEYS)


def recipe_toml(recipe: Recipe) -> str:
    """Return the recipe as TOML with every key, defaults included. Equal recipes give equal bytes."""
    document: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else value for key, value in asdict(recipe).items()
    }
    for key in ("phases", "specialists", "stand_ins", "cmake_arguments"):
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
    """Return the identity of a recipe: the hash of all its values, independent of how the file was written."""
    return sha256_bytes(recipe_toml(recipe).encode())


def differences(one: Recipe, other: Recipe) -> Iterator[tuple[str, Any, Any]]:
    """Yield (key path, value in `one`, value in `other`) for each key that differs."""
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
        close, do = closest_name(name, SHIPPED), "correct the path, or start a file from megacpp recipe show sample"
        raise SpecError(f"recipe {name!r}", expected=expected, found=found, closest=close, do=do) from error


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        do = "correct it there; megacpp recipe show sample prints a recipe that is right"
        raise SpecError(where, expected="TOML", found=str(error), do=do) from error


def _set(raw: dict[str, Any], setting: str) -> None:
    """Apply `KEY=VALUE` with a dotted key. The value is parsed as TOML; if that fails, or it is a date, it is text."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise SpecError("--set", expected="KEY=VALUE, such as training.steps=2000", found=repr(setting), do=_KEYS)
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        value = text
    if isinstance(value, date | time):  # no key is one: history.since takes a date as text
        value = text.strip()
    key, value = own_spelling(key.strip(), value)
    *tables, last = key.split(".")
    place = raw
    for table in tables:
        place = place.setdefault(table, {})
        if not isinstance(place, dict):
            found = f"{table}, which is a value"
            raise SpecError(f"--set {key}", expected="a key of a section", found=found, do=_KEYS)
    place[last] = value


@cache
def _model(kind: Any) -> Any:
    """Return a strict pydantic model with the fields of the dataclass `kind`."""
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
    """Return the type of a table whose keys a person chooses."""
    _, value = get_args(hint)
    if value == tuple[str, ...]:
        return dict[str, list[str]]
    if get_origin(value) is Mapping:
        return dict[str, _table(value)]  # type: ignore[misc]
    return dict[str, _model(value) if is_dataclass(value) else value]  # type: ignore[misc, arg-type]


def _build(kind: Any, valid: Any, faults: list[SpecError]) -> Any:
    """Build the dataclass `kind`, which validates values further than their types. Errors are appended to `faults`."""
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
    """Return `kind(**values)`. A rejected value is appended to `faults` and replaced by its default, so that further
    faults are found. None if the default does not help.
    """
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
    """Return `raw` with the standard phases added. Keys of the recipe replace the standard ones."""
    own = raw.get("phases", {})
    if not isinstance(own, dict):
        return dict(raw)
    phases: dict[str, Any] = {name: asdict(phase) for name, phase in standard_phases().items()}
    for name, table in own.items():
        phases[name] = {**phases.get(name, {}), **table} if isinstance(table, dict) else table
    return {**raw, "phases": phases}


def _fault(error: Mapping[str, Any]) -> SpecError:
    """Convert an error of pydantic. The object of the result is the dotted key."""
    path = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return _unknown_key(path)
    if error["type"] == "missing":
        return SpecError(path, expected="a value", found="nothing")
    expected = _TYPES.get(error["type"]) or str(error["msg"]).removeprefix("Input should be ")
    found = repr(error["input"])
    return SpecError(path, expected=expected, found=found if len(found) <= _SHOWN else f"{found[:_SHOWN]}…")


def _unknown_key(path: str) -> SpecError:
    """Return the error for an unknown key.

    It names a key with the same name in another section, or the closest key of the section, or all keys of the section.
    """
    table, _, last = path.rpartition(".")
    names = [entry.name for entry in fields(_section(path))]
    elsewhere = next((key for key in key_paths() if key.rpartition(".")[2] == last), "")
    near = closest_name(last, names)
    if close := elsewhere or (near and f"{table}.{near}".lstrip(".")):
        return SpecError(path, found="an unknown key", closest=close)
    return SpecError(path, expected=f"one of {', '.join(names)}", found="an unknown key")


def key_paths(kind: Any = Recipe, prefix: str = "") -> Iterator[str]:
    """Yield the dotted path of every section and key of a recipe, without names that a person chooses."""
    hints = get_type_hints(kind)
    for entry in fields(kind):
        yield prefix + entry.name
        if is_dataclass(hints[entry.name]):
            yield from key_paths(hints[entry.name], f"{prefix}{entry.name}.")


def _section(path: str) -> Any:
    """Return the dataclass that has the key at `path`."""
    if "." not in path:
        return Recipe
    hint = get_type_hints(Recipe)[path.split(".", maxsplit=1)[0]]
    return get_args(hint)[1] if get_origin(hint) is Mapping else hint


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found
