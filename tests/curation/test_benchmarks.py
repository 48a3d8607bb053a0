"""Benchmark items in files: planted copies are found, others are not, and a set that cannot be used is rejected."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.curation.benchmarks import load_benchmarks

_SOLUTION = """\
std::vector<int> intersperse(std::vector<int> numbers, int delimeter) {
    std::vector<int> out = {};
    if (numbers.size() > 0) out.push_back(numbers[0]);
    for (int i = 1; i < numbers.size(); i++) {
        out.push_back(delimeter);
        out.push_back(numbers[i]);
    }
    return out;
}
"""
_OTHER = "\n".join(f"int function{i}(int a) {{ return a * {i} + other({i}); }}" for i in range(200))


def _set(folder: Path, *lines: str) -> str:
    path = folder / "evalx.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"


def _item() -> str:
    return json.dumps({"id": "5", "prompt": "", "canonical_solution": _SOLUTION})


@pytest.mark.parametrize(
    "copy",
    [
        _SOLUTION,
        re.sub(r"\n\s*", "\n\t\t", _SOLUTION),
        _SOLUTION.replace("numbers", "values").replace("out", "result").replace("delimeter", "between"),
        "\n".join(f"+{line}" for line in _SOLUTION.splitlines()).replace("+", " "),
    ],
    ids=["verbatim", "re-indented", "renamed", "in a diff"],
)
def test_a_planted_copy_is_found(tmp_path: Path, copy: str) -> None:
    benchmarks = load_benchmarks([_set(tmp_path, _item())])
    assert benchmarks.found_in(f"{_OTHER}\n{copy}\n{_OTHER}", 0.6) == ["evalx:5"]
    assert benchmarks.found_in(_OTHER, 0.6) == []


def test_an_item_that_is_too_short_is_counted_and_not_looked_for(tmp_path: Path) -> None:
    benchmarks = load_benchmarks([_set(tmp_path, json.dumps({"id": "1", "canonical_solution": "return a + b;"}))])
    assert benchmarks.short == 1 and benchmarks.found_in("int f() { return a + b; }", 0.6) == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ((), "expected at least one item; found an empty file"),
        (("def f():",), "line 1; expected a JSON object .*; found no JSON"),
        (('{"id": "1"}',), "line 1; expected a JSON object"),
        (("[1]",), "line 1; expected a JSON object"),
    ],
)
def test_a_set_that_holds_no_items_is_rejected(tmp_path: Path, lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        load_benchmarks([_set(tmp_path, *lines)])


def test_a_set_that_is_not_the_one_of_the_recipe_is_rejected(tmp_path: Path) -> None:
    line = _set(tmp_path, _item())
    (tmp_path / "evalx.jsonl").write_text("changed\n")
    with pytest.raises(SpecError, match=r"expected sha256 .*; found sha256"):
        load_benchmarks([line])
    with pytest.raises(SpecError, match="expected a sha256, two spaces and a path"):
        load_benchmarks(["evalx.jsonl"])
