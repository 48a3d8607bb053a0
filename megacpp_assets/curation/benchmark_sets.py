"""Reads sets of benchmark items: JSONL files of the user, each named with its sha256.

An item is `{"id", "prompt", "canonical_solution"}`, with at least one of the two texts. An answer may stand alone or
below its prompt, so an item with both is two texts. Of a solution that is a diff, the added lines are the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.curation import hashed_file

PROMPT = "prompt"
SOLUTION = "canonical_solution"
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.M)
_FILE_HEADS = ("+++ ", "--- ")


class Item(NamedTuple):
    """`name` is `SET:ID`; a copy of any of `texts` is a copy of the item."""

    name: str
    texts: tuple[str, ...]


def load_items(sets: Iterable[str]) -> list[Item]:
    """Return the items of `sets`, lines as sha256sum writes them.

    `SpecError` for a file that is missing, has another hash, is empty, is not UTF-8, has a line that is no item, or has
    an id twice.
    """
    return [item for line in sets for item in _set(line)]


def is_diff(text: str) -> bool:
    """Return whether `text` has a hunk of a unified diff."""
    return "@@ -" in text and _HUNK.search(text) is not None


def without_markers(diff: str) -> str:
    """Return a diff with the markers of its added and removed lines as spaces; no character moves."""
    return re.sub(r"^[+-]", " ", diff, flags=re.M)


def _added(diff: str) -> str:
    lines = diff.splitlines()
    return "\n".join(line[1:] for line in lines if line.startswith("+") and not line.startswith(_FILE_HEADS))


def _set(line: str) -> Iterator[Item]:
    digest, path = hashed_file(line, "benchmarks")
    where = f"benchmark set {path}"
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SpecError(
            where,
            expected="a readable file",
            found=error.strerror or str(error),
            do="correct the path in curation.benchmarks",
        ) from error
    if sha256_bytes(data) != digest:
        do = "write what sha256sum prints into curation.benchmarks"
        raise SpecError(where, expected=f"sha256 {digest}", found=f"sha256 {sha256_bytes(data)}", do=do)
    lines = [(number, text) for number, text in enumerate(_decoded(where, data).split("\n"), start=1) if text.strip()]
    if not lines:
        raise SpecError(
            where,
            expected="at least one item",
            found="an empty file",
            do="add items, or take it out of curation.benchmarks",
        )
    first: dict[str, int] = {}
    for number, text in lines:
        item = _item(f"{where}, line {number}", Path(path).stem, text)
        if item.name in first:
            found = f"the id of line {first[item.name]}"
            raise SpecError(
                f"{where}, line {number}", expected="an id of its own", found=found, do="give the item another id"
            )
        first[item.name] = number
        yield item


def _decoded(where: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(
            where,
            expected="UTF-8",
            found=f"byte {data[error.start]:#04x} at {error.start}",
            do="save the file as UTF-8",
        ) from error


def _item(where: str, name: str, line: str) -> Item:
    expected = f'a JSON object with "id" and one of {PROMPT}, {SOLUTION}'
    try:
        item = json.loads(line)
    except ValueError as error:
        raise SpecError(
            where, expected=expected, found=f"no JSON: {error}", do="correct that line of the file"
        ) from error
    texts = {key: item[key] for key in (PROMPT, SOLUTION) if _is_text(item.get(key))} if isinstance(item, dict) else {}
    if not texts or not item.get("id"):
        raise SpecError(where, expected=expected, found=line[:60], do="correct that line of the file")
    solution = texts.get(SOLUTION, "")
    if is_diff(solution):
        return Item(f"{name}:{item['id']}", (_added(solution),))
    whole = "\n".join(texts.values())
    return Item(f"{name}:{item['id']}", tuple(dict.fromkeys((solution or whole, whole))))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
