"""Texts that are hard for a tokenizer: pieces of code, of special tokens and of Unicode, glued at random."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = (
    "<BOS>", "<", "BOS", "BOS>", "<EOS>", ">", "->", "->*", ">>=", ">=", "<=>", " -> ", " > ", "> ", ">(", ">\n    ",
    ">;\n", "-->", "std::", "mystd::", "std", "::", ":::", ":", "template<", "template <", "template", "#include",
    "# define", "#  ifx", "#if", "#", "##", "a", "_x9", "int", "end_point", "é", "e\u0301", "\u0301", "中", "😀",
    "\u202e", "\0", "\ufeff", "\r\n", "\r", "\n", "\n\n\t", "  ", "    ", "\t", " ", "\\n", "\\brief", "\\briefs",
    "\\", "\\\n  ", " \\\r\n", "1e-5", "1e+", "0x1F", "1.5f", ".5", "1'000", "1.", "٣", "²", "====", "/////", "/**",
    "*/", "//", "...", "<<=", "\ue000RESERVED_48", "\ue000", "\ud7ff", "Ġ", "Ċ", "\x80", "\xa0", '"', "'", ");\n    ",
    "{\n\n\t", "\u2028", "\U000e0100", "\U0010ffff", "$", "@", "`", "?", "~",
)  # fmt: skip

TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=14).map("".join)
"""Unicode texts."""

BYTES = st.lists(
    st.one_of(st.sampled_from([piece.encode() for piece in PIECES]), st.binary(max_size=3)), max_size=10
).map(b"".join)
"""Any bytes, often not UTF-8."""
