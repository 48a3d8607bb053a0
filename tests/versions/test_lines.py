"""Blocks of changed lines: they give one text from the other, are few, and stand where people expect them."""

from __future__ import annotations

import difflib
import random

import pytest

from megacpp_assets.versions._lines import changed_blocks, line_starts

TEXTS = 400
LONG = 6_000


def _blocks(pre: bytes, post: bytes) -> list[list[int]]:
    found: list[list[int]] = changed_blocks(pre, line_starts(pre), post, line_starts(post)).reshape(-1, 4).tolist()
    return found


def _applied(pre: bytes, post: bytes, blocks: list[list[int]]) -> bytes:
    """`pre` with the lines of `post` in the blocks; each block lies behind a line that both have."""
    before, after = (text.splitlines(keepends=True) for text in (pre, post))
    made: list[bytes] = []
    done = other = 0
    for number, (first, end, start, stop) in enumerate(blocks):
        assert first - done == start - other > (0 if number else -1)
        assert (end > first) or (stop > start)
        made += [*before[done:first], *after[start:stop]]
        done, other = end, stop
    return b"".join([*made, *before[done:]])


def _lines(rng: random.Random, count: int, kinds: int) -> list[bytes]:
    return [b"%d\n" % rng.randrange(kinds) for _ in range(count)]


@pytest.mark.parametrize("kinds", [2, 5, 100])
def test_blocks_of_random_texts_give_one_text_from_the_other(kinds: int) -> None:
    rng = random.Random(kinds)
    for _ in range(TEXTS):
        before = _lines(rng, rng.randrange(30), kinds)
        after = [*before]
        for _ in range(rng.randrange(6)):
            place = rng.randrange(len(after) + 1)
            after[place : place + rng.randrange(4)] = _lines(rng, rng.randrange(4), kinds)
        pre, post = b"".join(before), b"".join(after)
        pre = pre[:-1] if rng.random() < 0.2 else pre
        blocks = _blocks(pre, post)
        assert _applied(pre, post, blocks) == post
        same = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        matched = sum(block.size for block in same)
        kept = len(before) - sum(end - first for first, end, _, _ in blocks)
        assert kept >= matched - (pre != b"".join(before))  # a shortest script keeps at least what difflib keeps


@pytest.mark.parametrize("kinds", [3, 50, 100_000])
def test_texts_that_have_little_in_common_are_compared_in_bounded_time(kinds: int) -> None:
    rng = random.Random(kinds)
    pre, post = (b"".join(_lines(rng, LONG + more, kinds)) for more in (0, 500))
    assert _applied(pre, post, _blocks(pre, post)) == post
    assert _applied(post, pre, _blocks(post, pre)) == pre


def test_equal_texts_have_no_block_and_an_empty_text_has_one() -> None:
    assert _blocks(b"a\nb\n", b"a\nb\n") == []
    assert _blocks(b"", b"a\nb") == [[0, 0, 0, 2]]
    assert _blocks(b"a\nb\n", b"") == [[0, 2, 0, 0]]
    assert _blocks(b"a\nb", b"a\nb\n") == [[1, 2, 1, 2]]


@pytest.mark.parametrize(
    ("pre", "added", "post"),
    [
        ("int a() {\n}\n\nint c() {\n}\n", (3, 6), "int a() {\n}\n\nint b() {\n}\n\nint c() {\n}\n"),
        ("int a() {\n}\n", (2, 5), "int a() {\n}\n\nint b() {\n}\n"),
        ("f() {\n  if (a) {\n    x();\n  }\n}\n", (1, 4), "f() {\n  if (b) {\n    x();\n  }\n  if (a) {\n    x();\n  }\n}\n"),  # noqa: E501
    ],
    ids=["between functions", "at the end", "a statement with a block"],
)  # fmt: skip
def test_an_added_block_begins_at_its_first_line(pre: str, added: tuple[int, int], post: str) -> None:
    ((_, _, start, stop),) = _blocks(pre.encode(), post.encode())
    assert (start, stop) == added


def test_line_starts_that_are_not_those_of_the_text_are_rejected() -> None:
    with pytest.raises(ValueError, match="line starts"):
        changed_blocks(b"a\nb\n", line_starts(b"a\n"), b"", line_starts(b""))
