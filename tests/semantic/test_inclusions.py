from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.inclusions import included, reached

_FILES = st.sampled_from([b"a.cc", b"b.h", b"c.h", b"/usr/d", b"/usr/e", b"/usr/f"])
_EDGES = st.lists(st.tuples(_FILES, _FILES), max_size=10).map(tuple)
Edges = tuple[tuple[bytes, bytes], ...]


def _slow_reached(path: bytes, edges: Edges) -> set[bytes]:
    found: set[bytes] = set()
    for _ in range(len(edges) + 1):
        found |= {included for includer, included in edges if includer == path or includer in found}
    return found


@given(_FILES, _EDGES, _EDGES)
def test_a_file_reaches_what_is_below_it_by_inclusions_of_its_own_and_of_the_header(
    path: bytes, own: Edges, shared: Edges
) -> None:
    assert reached(path, own, shared) == _slow_reached(path, own + shared)


def test_a_cycle_ends_and_holds_the_file_itself() -> None:
    assert reached(b"a.h", [(b"a.h", b"b.h")], ((b"b.h", b"a.h"),)) == {b"a.h", b"b.h"}


def test_all_that_anything_includes_is_included() -> None:
    assert included(((b"a", b"b"), (b"b", b"c"))) == {b"b", b"c"}
