"""Copies of files: which are one cluster, which one stays, and that the order of the files changes nothing."""

from __future__ import annotations

import random

import pytest

from megacpp_assets.curation.copies import CopiedFile, Copies, clusters, joined, stays


def _text(name: str, statements: int = 40) -> str:
    lines = (f"  if ({name}{i} > {i}) {{ {name}_total += {name}{i} * {i}; }}" for i in range(statements))
    return f"int {name}() {{\n" + "\n".join(lines) + "\n}\n"


def _texts() -> dict[str, str]:
    one = _text("alpha")
    return {
        "a": one,
        "b": "// Another comment.\n" + one.replace("  if", "\tif"),
        "c": one.replace("alpha39", "changed"),
        "d": _text("beta"),
        "e": "int x;\n",
    }


def _near(order: list[str]) -> list[tuple[str, str]]:
    copies, texts = Copies(), _texts()
    for blob in order:
        copies.add(blob, texts[blob])
    return copies.near(texts.__getitem__, 0.7)


def test_texts_that_differ_in_layout_or_a_few_tokens_are_near_copies_and_others_are_not() -> None:
    near = _near(list(_texts()))
    files = [CopiedFile(f"src/{blob}.cc", blob) for blob in _texts()]
    assert clusters(files, near) == {"src/a.cc": "a", "src/b.cc": "a", "src/c.cc": "a"}


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_files_changes_no_pair(seed: int) -> None:
    order = list(_texts())
    random.Random(seed).shuffle(order)
    assert _near(order) == _near(list(_texts()))


def test_a_hundred_thousand_copies_are_one_cluster() -> None:
    files = [CopiedFile(f"copies/{number}.h", "a" * 40) for number in range(100_000)]
    named = clusters(files, [])
    assert set(named.values()) == {"a" * 16} and len(named) == len(files)


def test_a_chain_of_a_hundred_thousand_copies_is_followed_once() -> None:
    names = [f"{number:040}" for number in range(100_000)]
    least = joined((one, other) for one, other in zip(reversed(names[:-1]), reversed(names), strict=False))
    assert {least(name) for name in reversed(names)} == {names[0]}


def test_the_copy_of_the_project_itself_stays_before_a_vendored_one() -> None:
    paths = ("aaa/third_party/json.hpp", "json-3.11.3/json.hpp", "src/deep/er/json.hpp", "src/json.hpp", "src/zson.hpp")
    assert stays([CopiedFile(path, "x") for path in paths]).path == "src/json.hpp"
