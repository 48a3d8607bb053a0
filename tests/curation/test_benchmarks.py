"""Benchmark items in files: planted copies are found where they stand, others are not, unusable sets are rejected."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.curation.benchmarks import Answer, load_benchmarks
from tests.curation.solutions import INTERSPERSE

_OTHER = "\n".join(f"int function{i}(int a) {{ return a * {i} + other({i}); }}" for i in range(200))
_HALF = INTERSPERSE.index("    for")


def _set(folder: Path, *lines: str) -> str:
    path = folder / "evalx.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"


def _item(solution: str = INTERSPERSE, prompt: str = "") -> str:
    return json.dumps({"id": "5", "prompt": prompt, "canonical_solution": solution})


def _diff(old: str, new: str) -> str:
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), "a/x.cc", "b/x.cc", lineterm=""))


@pytest.mark.parametrize(
    "copy",
    [
        INTERSPERSE,
        re.sub(r"\n\s*", "\n\t\t", INTERSPERSE),
        INTERSPERSE.replace("\n", " "),
        INTERSPERSE.replace("numbers", "values").replace("out", "result").replace("delimeter", "between"),
        INTERSPERSE[:_HALF] + "\n// Next part.\nint between();\n" + INTERSPERSE[_HALF:],
        _diff("int before;\n", f"int before;\n{INTERSPERSE}"),
        _diff(f"int before;\n{INTERSPERSE}", "int before;\n"),
    ],
    ids=["verbatim", "re-indented", "in one line", "renamed", "split", "added by a diff", "removed by a diff"],
)
def test_a_planted_copy_is_found(tmp_path: Path, copy: str) -> None:
    benchmarks = load_benchmarks([_set(tmp_path, _item())])
    text = f"{_OTHER}\n{copy}\n{_OTHER}"
    assert benchmarks.found_in(text, 0.6) == ["evalx:5"]
    places = benchmarks.answers_in(text, 0.6)
    start, end = len(_OTHER) + 1, len(_OTHER) + 1 + len(copy)
    assert places and all(start - 10 <= each.start < each.end <= end + 10 for each in places)
    assert benchmarks.found_in(_OTHER, 0.6) == []


def test_the_place_of_a_copy_is_the_copy(tmp_path: Path) -> None:
    benchmarks = load_benchmarks([_set(tmp_path, _item())])
    text = f"// é\n{INTERSPERSE}int after;\n"
    assert benchmarks.answers_in(text, 0.6) == [Answer("evalx:5", 5, 5 + len(INTERSPERSE) - 1)]


@pytest.mark.parametrize("prompt", ["Write a function. " * 40, "#include <map>\n" * 60])
def test_an_answer_is_found_without_its_long_prompt(tmp_path: Path, prompt: str) -> None:
    benchmarks = load_benchmarks([_set(tmp_path, _item(prompt=prompt))])
    assert benchmarks.found_in(f"{_OTHER}\n{INTERSPERSE}", 0.6) == ["evalx:5"]


def test_an_answer_that_is_a_diff_is_found_in_the_corrected_file(tmp_path: Path) -> None:
    old = INTERSPERSE.replace("numbers.size() > 0", "true").replace("i < numbers.size()", "true")
    benchmarks = load_benchmarks([_set(tmp_path, _item(_diff("int before;\n", f"int before;\n{INTERSPERSE}")))])
    assert benchmarks.found_in(f"{_OTHER}\n{INTERSPERSE}", 0.6) == ["evalx:5"]
    assert old != INTERSPERSE


def test_an_item_that_is_too_short_is_counted_and_not_looked_for(tmp_path: Path) -> None:
    benchmarks = load_benchmarks([_set(tmp_path, json.dumps({"id": "1", "canonical_solution": "return a + b;"}))])
    assert benchmarks.short == 1 and benchmarks.found_in("int f() { return a + b; }", 0.6) == []


def test_without_names_short_code_is_not_an_answer(tmp_path: Path) -> None:
    loop = "int sum(int n) { int s = 0; for (int i = 0; i < n; ++i) { s = add(s, i); } return s; }"
    benchmarks = load_benchmarks([_set(tmp_path, _item(loop))])
    assert benchmarks.found_in(loop, 0.6) == ["evalx:5"]
    assert (
        benchmarks.found_in("int x(int a) { int b = 0; for (int c = 0; c < a; ++c) { b = y(b, c); } return b; }", 0.6)
        == []
    )


def test_without_names_functions_that_share_their_loops_alone_are_no_answer(tmp_path: Path) -> None:
    loop = "for (int i = 0; i < n; ++i) { if (a[i] > b) { c = d(c, a[i]); } else { while (c > n) { c -= b * i; } } }"
    body = "\n".join(f"e[{n}] = {'+'.join('f' * (n % 7 + 2))} * {n};" for n in range(20))
    benchmarks = load_benchmarks([_set(tmp_path, _item(f"int work(int n) {{ {loop} {body} return c; }}"))])
    renamed = re.sub(r"\b([abcdenf])\b", r"other_\1", f"{loop} {body}")
    assert benchmarks.found_in(f"int task(int other_n) {{ {renamed} return other_c; }}", 0.6) == ["evalx:5"]
    alone = re.sub(r"\b([abcdenf])\b", r"other_\1", loop)
    assert benchmarks.found_in(f"{_OTHER} int task(int other_n) {{ {alone} return other_c; }}", 0.6) == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ((), "expected at least one item; found an empty file"),
        (("", " "), "expected at least one item; found an empty file"),
        (("def f():",), "line 1; expected a JSON object .*; found no JSON"),
        ((_item(), "", "[1]"), "line 3; expected a JSON object"),
        (('{"id": "1"}',), "line 1; expected a JSON object"),
        (('{"id": "1", "prompt": " ", "canonical_solution": ""}',), "line 1; expected a JSON object"),
        ((_item(), _item("int other();")), "line 2; expected an id of its own; found the id of line 1"),
    ],
)
def test_a_set_that_holds_no_items_is_rejected(tmp_path: Path, lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        load_benchmarks([_set(tmp_path, *lines)])


def test_a_set_that_is_not_utf8_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "evalx.jsonl"
    path.write_bytes(b'{"id": "1", "prompt": "\xff"}\n')
    with pytest.raises(SpecError, match="expected UTF-8; found byte 0xff at 23"):
        load_benchmarks([f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"])


def test_a_set_that_is_not_the_one_of_the_recipe_is_rejected(tmp_path: Path) -> None:
    line = _set(tmp_path, _item())
    (tmp_path / "evalx.jsonl").write_text("changed\n")
    with pytest.raises(SpecError, match=r"expected sha256 .*; found sha256"):
        load_benchmarks([line])
    with pytest.raises(SpecError, match="expected a sha256, two spaces and a path"):
        load_benchmarks(["evalx.jsonl"])
    (tmp_path / "evalx.jsonl").unlink()
    with pytest.raises(SpecError, match="expected a readable file; found No such file"):
        load_benchmarks([line])
