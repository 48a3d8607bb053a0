"""Tests of `corpus.lock`: reads back as written, in one byte form, whatever the names hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile, RepoPin, TokenizerPin
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.partition import RepoRef

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
_NAME = st.from_regex(r"[a-z0-9][a-z0-9_+-]{0,11}", fullmatch=True)
_LABEL = st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True)
_COMMIT = st.text("0123456789abcdef", min_size=40, max_size=40)
_SHA256 = st.text("0123456789abcdef", min_size=64, max_size=64)
_GIT_REF = st.from_regex(r"refs/[a-z/.-]{1,12}", fullmatch=True)
_LINE = _TEXT.filter(str.isprintable)
_OWNERS = st.lists(_TEXT, max_size=2).map(tuple)
_PINS = st.lists(
    st.builds(RepoPin, _NAME, _NAME, _GIT_REF, _COMMIT, _LINE, _LINE, _LINE, st.booleans(), _OWNERS),
    max_size=6,
    unique_by=lambda pin: pin.partition,
)
_TOKENIZERS = st.none() | st.builds(TokenizerPin, _COMMIT, _SHA256, st.lists(_NAME, max_size=3).map(tuple))


@st.composite
def locks(draw: st.DrawFn) -> LockFile:
    lock = LockFile()
    for dataset in draw(st.lists(_LABEL, unique=True, max_size=3)):
        pins = draw(_PINS)
        read = {pin.name: pin for pin in draw(st.lists(st.sampled_from(pins))) if pins} if pins else {}
        corpus = CorpusLock(dataset, draw(_LABEL), (), draw(_TOKENIZERS))
        lock = lock.with_corpus(corpus.with_pins(pins).reading(read.values()))
    return lock


@given(locks())
def test_a_lock_reads_back_as_written(lock: LockFile) -> None:
    assert LockFile.from_bytes(lock.to_bytes()) == lock


FMT = RepoPin("fmt", "11.0.0", "refs/tags/11.0.0", "0c9f" * 10, "https://github.com/fmtlib/fmt", "MIT", "small_cpp")
ABSEIL = RepoPin(
    "abseil-cpp", "tip-8f3c2d1a0b4e", "HEAD", "8f3c" * 10, "https://github.com/abseil/abseil-cpp", "Apache-2.0", ""
)


def test_a_category_is_written_where_there_is_one() -> None:
    lock = LockFile().with_corpus(CorpusLock("set", "sample", (replace(FMT, category="cpp_libraries"), TIP)))
    assert lock.to_bytes().count(b"category") == 1 and LockFile.from_bytes(lock.to_bytes()) == lock


def test_the_order_of_pins_does_not_change_the_bytes() -> None:
    one, other = (LockFile().with_corpus(CorpusLock("set", "sample", pins)) for pins in ((FMT, ABSEIL), (ABSEIL, FMT)))
    assert one.to_bytes() == other.to_bytes()


def test_a_pin_is_found_by_name_and_gives_its_partition() -> None:
    corpus = CorpusLock("set", "sample", (FMT, ABSEIL))
    assert corpus.pin("fmt").partition == RepoRef("fmt", "11.0.0")
    assert corpus.specialists == {"small_cpp": "fmt"}
    with pytest.raises(SpecError, match="a pin of folly"):
        corpus.pin("folly")


OLD = RepoPin("fmt", "10.2.1", "refs/tags/10.2.1", "e69e" * 10, "https://github.com/fmtlib/fmt", "MIT", "small_cpp")


def test_another_reference_is_known_beside_the_one_that_mixtures_read_and_each_keeps_its_commit() -> None:
    corpus = CorpusLock("set", "sample", (ABSEIL, FMT)).with_pins([OLD, replace(FMT, commit="0" * 40)])
    assert corpus.repos == (ABSEIL, FMT) and corpus.beside == (OLD,)
    moved = corpus.reading([ABSEIL, OLD])
    assert moved.repos == (ABSEIL, OLD) and moved.beside == (FMT,)
    assert moved.find(RepoRef("fmt", "11.0.0")) == FMT and moved.find(RepoRef("fmt", "1.0")) is None


def test_a_lock_of_the_first_format_is_read_and_written_in_the_present_one() -> None:
    first = b"""active = "set"
[dataset.set]
recipe = "0a1b"
[dataset.set.repo.fmt]
ref = "11.0.0"
git_ref = "refs/tags/11.0.0"
commit = "0c9f0c9f0c9f0c9f0c9f0c9f0c9f0c9f0c9f0c9f"
url = "https://github.com/fmtlib/fmt"
license = "MIT"
specialist = ""
submodules = false
"""
    lock = LockFile.from_bytes(first)
    assert [pin.partition.key for pin in lock.datasets["set"].repos] == ["fmt@11.0.0"]
    assert b"format = 2" in lock.to_bytes() and LockFile.from_bytes(lock.to_bytes()) == lock


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            'active = "a"\n[dataset.a]\nprofile = "sample"\n[dataset.a.repo]\n',
            "no key 'recipe'.*move corpus.lock aside",
        ),
        ('format = 4\nactive = "a"\n[dataset.a]\n', "format 1 to 3; found format 4; what to do: use the release"),
        ('format = 2\nactive = "a"\n[dataset.a]\nrecipe = "p"\nreads = ["x@1"]\n[dataset.a.repo]\n', "no key 'x@1'"),
    ],
)
def test_a_lock_of_another_release_is_rejected_with_what_to_do(data: str, words: str) -> None:
    with pytest.raises(LineageGap, match=words):
        LockFile.from_bytes(data.encode())


def test_a_lock_with_removals_is_of_a_format_that_earlier_releases_refuse_and_pins_nothing_of_them() -> None:
    removal = Removal("fmt", "", 'its owner "asked"')
    lock = LockFile().with_corpus(CorpusLock("a", "p", (FMT,), None, (OLD,)).removing(removal))
    written = lock.to_bytes()
    assert b"format = 3" in written and LockFile.from_bytes(written) == lock
    assert lock.datasets["a"].with_pins([FMT]).reading([OLD]).known == ()
    of_a_file = LockFile().with_corpus(CorpusLock("a", "p", (FMT,)).removing(Removal("fmt", "src/*", "x")))
    assert LockFile.from_bytes(of_a_file.to_bytes()).datasets["a"].removed_paths("fmt") == ("src/*",)


def test_a_removal_that_a_person_wrote_wrong_is_reported_as_such() -> None:
    written = LockFile().with_corpus(CorpusLock("a", "p", (FMT,)).removing(Removal("fmt", "src/*", "x"))).to_bytes()
    for wrong in (written.replace(b'reason = "x"', b'reason = ""'), written.replace(b"reason", b"because")):
        with pytest.raises(LineageGap, match=r"corpus\.lock; expected a lock written by megacpp"):
            LockFile.from_bytes(wrong)


TIP = RepoPin("folly", "tip-8f3c8f3c8f3c", "8f3c" * 10, "8f3c" * 10, "https://github.com/facebook/folly", "MIT", "")


@pytest.mark.parametrize(
    ("written", "edited", "said"),
    [
        (
            '"' + "0c9f" * 10 + '"',
            '"0c9f"',
            "fmt@11.0.0: commit '0c9f', which is not a commit of 40 hexa",
        ),
        ('"' + "0c9f" * 10 + '"', '"--upload-pack=x"', "commit '--upload-pack=x', which is not a commit"),
        ('"' + "0c9f" * 10 + '"', "7", "commit 7, which is not a commit"),
        ('"refs/tags/11.0.0"', '"--all"', "git_ref '--all', which is not a full name at the source"),
        ('commit = "' + "8f3c" * 10, 'commit = "' + "0000" * 10, f"commit {'0000' * 10}, which its name is not of"),
        ('"https://github.com/fmtlib/fmt"', '["a"]', r"url \['a'\], which is not a line of text"),
        ('"' + "5" * 64 + '"', '"5"', "tokenizer of a: sha256 '5', which is not a sha256"),
        (
            'recipe = "p"',
            'recipe = "../../etc/passwd"',
            "recipe '../../etc/passwd', which is not the sha256",
        ),
        ("dataset.a", 'dataset."../a"', "dataset '../a', which is not a name"),
        ("fmt@11.0.0", "../fmt@11.0.0", "partition key '../fmt@11.0.0'"),
    ],
)
def test_a_lock_that_a_person_edited_wrong_is_reported_as_such(written: str, edited: str, said: str) -> None:
    tokenizer = TokenizerPin("c" * 40, "5" * 64)
    text = LockFile().with_corpus(CorpusLock("a", "p", (FMT, TIP), tokenizer)).to_bytes().decode()
    assert written in text
    with pytest.raises(LineageGap, match=rf"corpus\.lock; expected a lock .*; found .*{said}.*put back"):
        LockFile.from_bytes(text.replace(written, edited).encode())


def test_a_lock_whose_mixtures_read_two_references_of_a_repository_is_rejected() -> None:
    both = LockFile().with_corpus(CorpusLock("a", "p", (FMT,), None, (OLD,))).to_bytes()
    with pytest.raises(LineageGap, match="two references"):
        LockFile.from_bytes(both.replace(b'["fmt@11.0.0"]', b'["fmt@11.0.0", "fmt@10.2.1"]'))


def test_a_new_corpus_replaces_the_one_of_its_name_and_is_active_only_as_the_first_or_on_request() -> None:
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
def test_bytes_that_are_no_lock_are_rejected(data: bytes) -> None:
    with pytest.raises(LineageGap, match=r"corpus\.lock"):
        LockFile.from_bytes(data)
