"""Tests of the file list of `pinned_repos`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.sources.source_file import SourceFile, dump_files, load_files

_TEXT = st.text(max_size=20)
_FILES = st.builds(
    SourceFile, _TEXT, _TEXT, st.integers(0, 2**40), st.sampled_from(["c", "c++", ""]), st.booleans(), _TEXT, _TEXT
)


@given(st.lists(_FILES, max_size=5))
def test_a_file_list_reads_back_as_written_whatever_its_paths_hold(files: list[SourceFile]) -> None:
    assert load_files(dump_files(files)) == files


def test_a_path_with_line_separators_stays_one_line() -> None:
    file = SourceFile("a\n\u2028\x85b.cc", "0" * 40, 1, "c++", False, "MIT")
    assert dump_files([file]).count(b"\n") == 1
    assert load_files(dump_files([file])) == [file]
