"""Tests of partition keys: what they accept becomes a directory name and a Dagster key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import Mixture, RepoRef


@pytest.mark.parametrize("key", ["fmt@11.0.0", "llvm-project@llvmorg-19.1.0", "folly@tip-8f3c2d1a0b4e", "a+b@v1_2+x"])
def test_a_key_of_name_and_ref_reads_back_as_itself(key: str) -> None:
    assert RepoRef.parse(key).key == key


@pytest.mark.parametrize(
    "key",
    [
        "", "fmt", "@", "fmt@", "@11.0.0", "fmt@11@0", "../fmt@1", "a/b@1", "fmt@v1//2", "fmt@v1/",
        "fmt@a/../b", "fmt@a/.b", "..@1", "fmt@..", "fmt@1..2",
        ".fmt@1", "-fmt@1", "fmt@-1", "fmt@.1", "fmt@1\n", "fmt\n@1", "fmt@1 2", "a,b@1", "fmt@1,2", "fmt@$(id)",
        "fmt@1'; DROP", "fmt@*", "fmt@é", "fmt@\x00", "x" * 101 + "@1", "fmt@" + "1" * 201,
    ],
)  # fmt: skip
def test_a_key_that_is_no_plain_name_and_ref_is_rejected(key: str) -> None:
    with pytest.raises(SpecError, match="partition key"):
        RepoRef.parse(key)


def test_a_key_that_is_too_long_for_a_folder_is_rejected() -> None:
    assert RepoRef.parse("x" * 99 + "@" + "1" * 100)
    with pytest.raises(SpecError, match="at most 200 characters"):
        RepoRef.parse("x" * 100 + "@" + "1" * 100)


def test_a_reference_with_slashes_has_a_key_without_that_names_it() -> None:
    repo = RepoRef.parse("gcc@releases/gcc-13.2.0")
    assert (repo.key, repo.ref) == ("gcc@releases~gcc-13.2.0", "releases/gcc-13.2.0")
    assert RepoRef.parse(repo.key) == repo
    assert RepoRef.asked(repo.key) == RepoRef.asked("gcc@releases/gcc-13.2.0") == ("gcc", "releases/gcc-13.2.0")


@given(st.text(max_size=30))
def test_no_accepted_key_leaves_its_directory(key: str) -> None:
    try:
        repo = RepoRef.parse(key)
    except SpecError:
        return
    assert not {"/", "\\", "\x00", "\n", ",", " "} & set(repo.key)
    assert repo.key not in (".", "..") and not repo.key.startswith((".", "-"))


def test_a_mixture_s_key_names_specialist_and_phase() -> None:
    assert Mixture("small_cpp", "4k").key == "small_cpp/4k"
