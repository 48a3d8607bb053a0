from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.sources import index

OPERATOR = 'struct Text { const char *data; };\nText operator""_text(const char *data, unsigned long size);\n'


@pytest.mark.parametrize("macro", ["#define SAY(word) #word##_text", '#define HELLO "hello"_text'])
def test_a_macro_uses_the_literal_operator_whose_suffix_it_writes(tmp_path: Path, macro: str) -> None:
    repository, _ = index(tmp_path, {"text.h": OPERATOR, "a.cc": f'#include "text.h"\n{macro}\nint a;\n'})
    names = [node.chunk.name for node in repository.nodes]
    (user,) = (number for number, name in enumerate(names) if name in ("SAY", "HELLO"))
    assert [names[used] for used in repository.spelled[user]] == ['operator""_text']


def test_another_suffix_uses_none(tmp_path: Path) -> None:
    sources = {"text.h": OPERATOR, "a.cc": '#include "text.h"\n#define SAY(word) word##_tex\nint a;\n'}
    repository, _ = index(tmp_path, sources)
    assert not any(repository.spelled)
