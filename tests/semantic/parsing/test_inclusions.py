from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.parsing.inclusions import SharedInclusions, reached, shared_inclusions

_FILES = st.sampled_from([b"a.cc", b"b.h", b"c.h", b"/usr/d", b"/usr/e", b"/usr/f"])
_EDGES = st.lists(st.tuples(_FILES, _FILES), max_size=10).map(tuple)
Edges = tuple[tuple[bytes, bytes], ...]


def _slow_reached(path: bytes, edges: Edges) -> set[bytes]:
    found: set[bytes] = set()
    for _ in range(len(edges) + 1):
        found |= {included for includer, included in edges if includer == path or includer in found}
    return {path for path in found if not path.startswith(b"/")}


@given(_FILES, _EDGES, _EDGES)
def test_a_file_reaches_all_files_that_it_or_the_shared_header_includes(path: bytes, own: Edges, shared: Edges) -> None:
    assert reached(path, own, SharedInclusions(shared)) == _slow_reached(path, own + shared)


@given(_EDGES, st.lists(_FILES, max_size=4))
def test_the_order_of_queries_does_not_change_the_reached_files(shared: Edges, before: list[bytes]) -> None:
    known = SharedInclusions(shared)
    for path in (*before, b"a.cc"):
        assert reached(path, (), known) == _slow_reached(path, shared)


def test_a_file_of_an_include_cycle_reaches_itself() -> None:
    shared = SharedInclusions(((b"b.h", b"a.h"),))
    assert reached(b"a.h", [(b"a.h", b"b.h")], shared) == {b"a.h", b"b.h"}


def test_files_of_the_header_are_all_included_files() -> None:
    inclusions = ((b"a", b"b"), (b"b", b"/c"))
    assert shared_inclusions(inclusions).files == {b"b", b"/c"}
    assert shared_inclusions(inclusions) is shared_inclusions(tuple(inclusions))
