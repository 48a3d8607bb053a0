from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.outline.lexer import Spans, inside, lex
from tests.semantic.slow_lexer import slow_tokens


def _texts(code: bytes, spans: Spans) -> list[bytes]:
    return [code[start:end] for start, end in spans.tolist()]


@pytest.mark.parametrize(
    ("code", "comments"),
    [
        (b"a // b\nc", [b"// b"]),
        (b"a /* b\n */ c", [b"/* b\n */"]),
        (b"// a \\\n b\nc", [b"// a \\\n b"]),
        (b"// a \\\r\n b\r\nc", [b"// a \\\r\n b\r"]),
        (b'"// no" // yes', [b"// yes"]),
        (b"'\"' // yes", [b"// yes"]),
        (b'R"x(" // no )x" // yes', [b"// yes"]),
        (b"1'000'000 // yes", [b"// yes"]),
        (b"0xab'cd'EF + .5'0 + 1.e3'0 // yes", [b"// yes"]),
        (b"case'0': /* yes */", [b"/* yes */"]),
        (b"case'0': return'a'; // yes", [b"// yes"]),
        (b"u8'a' + U'b' + L'c' // yes", [b"// yes"]),
        (b"/* open", [b"/* open"]),
        (b'"open // no\n// yes', [b"// yes"]),
    ],
)
def test_comments_are_found_and_literals_are_not(code: bytes, comments: list[bytes]) -> None:
    assert _texts(code, lex(code).comments) == comments


def test_a_directive_runs_over_its_continued_lines() -> None:
    code = b"int a;\n  # define X(a) \\\n  (a)\nint b;\n#include <v>\r\n"
    lexed = lex(code)
    assert _texts(code, lexed.directives) == [b"  # define X(a) \\\n  (a)", b"#include <v>"]
    assert lexed.names == ("define", "include")


def test_a_comment_may_carry_a_directive_over_a_line_break() -> None:
    code = b"#define X /* a\n b */ 1\nint y;"
    assert _texts(code, lex(code).directives) == [b"#define X /* a\n b */ 1"]


def test_a_hash_in_a_comment_is_no_directive() -> None:
    assert len(lex(b"/*\n#define X\n*/\n").directives) == 0


_PARTS = [
    b'"', b"'", b"/", b"*", b"//", b"/*", b"*/", b"\\", b"\\\n", b"\n", b"\r", b"\r\n", b"#", b" ", b"\t", b"\0", b"a",
    b"1", b"f", b"u8'", b'R"', b'u8R"', b'LR"', b'xR"', b'_R"', b"(", b")", b'a(', b')a"', b')"', b"0123456789abcdef",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PARTS), max_size=24))
@settings(max_examples=500)
def test_the_native_lexer_equals_the_reference_in_python(parts: list[bytes]) -> None:
    code = b"".join(parts)
    found = _visitor.lex(code)
    pairs = (found[name].reshape(-1, 2) for name in ("comments", "literals"))
    comments, literals = ([(start, end) for start, end in spans.tolist()] for spans in pairs)
    assert (comments, literals, found["directive_lines"].tolist()) == slow_tokens(code)
    for name, spans in (("commented", comments), ("quoted", literals)):
        assert set(np.flatnonzero(found[name]).tolist()) == {at for span in spans for at in range(*span)}


@given(st.lists(st.sampled_from([b'"', b"'", b"/", b"*", b"\\", b"\n", b"\r\n", b"#", b'R"(', b')"', b"a1", b" "])))
def test_spans_of_any_bytes_are_ascending_and_disjoint(parts: list[bytes]) -> None:
    code = b"".join(parts)
    lexed = lex(code)
    for spans in (np.concatenate([lexed.comments, lexed.literals]), lexed.directives):
        ordered = spans[np.argsort(spans[:, 0])]
        assert (ordered[:, 0] <= ordered[:, 1]).all() and (ordered[1:, 0] >= ordered[:-1, 1]).all()
        assert not len(ordered) or ordered[-1, 1] <= len(code)


def test_offsets_inside_of_spans_are_found() -> None:
    spans = np.array([[2, 4], [7, 8]], dtype=np.int64)
    assert np.flatnonzero(inside(spans, np.arange(10))).tolist() == [2, 3, 7]


def test_an_unterminated_raw_string_runs_to_the_end_however_many_there_are() -> None:
    code = b'R"(' * 50_000
    assert lex(code).literals.tolist() == [[1, len(code)]]
