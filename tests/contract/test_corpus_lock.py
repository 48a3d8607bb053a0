"""Tests of `corpus.lock`: reads back as written, in one byte form, whatever the names hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.corpus_lock import CorpusLock, LockFile, RepoPin, TokenizerPin
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.partition import RepoRef

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
_NAME = st.text("abcdefghijklmnopqrstuvwxyz0123456789._+-", min_size=1, max_size=12)
_OWNERS = st.lists(_TEXT, max_size=2).map(tuple)
_PINS = st.lists(
    st.builds(RepoPin, _NAME, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, st.booleans(), _OWNERS),
    max_size=4,
    unique_by=lambda pin: pin.name,
)
_TOKENIZERS = st.none() | st.builds(TokenizerPin, _TEXT, _TEXT, st.lists(_NAME, max_size=3).map(tuple))


@st.composite
def locks(draw: st.DrawFn) -> LockFile:
    lock = LockFile()
    for dataset in draw(st.lists(_NAME, unique=True, max_size=3)):
        pins = tuple(sorted(draw(_PINS), key=lambda pin: pin.name))
        lock = lock.with_corpus(CorpusLock(dataset, draw(_NAME), pins, draw(_TOKENIZERS)))
    return lock


@given(locks())
def test_a_lock_reads_back_as_written(lock: LockFile) -> None:
    assert LockFile.from_bytes(lock.to_bytes()) == lock


FMT = RepoPin("fmt", "11.0.0", "refs/tags/11.0.0", "0c9f" * 10, "https://github.com/fmtlib/fmt", "MIT", "small_cpp")
ABSEIL = RepoPin(
    "abseil-cpp", "tip-8f3c2d1a0b4e", "HEAD", "8f3c" * 10, "https://github.com/abseil/abseil-cpp", "Apache-2.0", ""
)


def test_the_order_of_pins_does_not_change_the_bytes() -> None:
    one, other = (LockFile().with_corpus(CorpusLock("set", "sample", pins)) for pins in ((FMT, ABSEIL), (ABSEIL, FMT)))
    assert one.to_bytes() == other.to_bytes()


def test_a_pin_is_found_by_name_and_gives_its_partition() -> None:
    corpus = CorpusLock("set", "sample", (FMT, ABSEIL))
    assert corpus.pin("fmt").partition == RepoRef("fmt", "11.0.0")
    assert corpus.specialists == {"small_cpp": "fmt"}
    with pytest.raises(SpecError, match="a pin of folly"):
        corpus.pin("folly")


def test_a_new_corpus_replaces_the_one_of_its_name_and_is_active_only_as_the_first_or_when_told() -> None:
    lock = LockFile().with_corpus(CorpusLock("a", "sample")).with_corpus(CorpusLock("b", "sample"))
    assert (lock.active, lock.activated("b").active) == ("a", "b")
    again = lock.with_corpus(CorpusLock("a", "upstream"))
    assert (again.active, again.datasets["a"].recipe, sorted(again.datasets)) == ("a", "upstream", ["a", "b"])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"active = 1",
        b'active = "a"\n[dataset.a]\n',
        b'active = "a"\n[dataset.a]\nrecipe = "p"\n[dataset.a.repo.x]\nref = "1"\n',
    ],
)
def test_bytes_that_are_no_lock_are_refused(data: bytes) -> None:
    with pytest.raises(LineageGap, match=r"corpus\.lock"):
        LockFile.from_bytes(data)
