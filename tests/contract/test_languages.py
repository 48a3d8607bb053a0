"""The language of a header by its text, where its suffix says nothing."""

from __future__ import annotations

import pytest

from megacpp_assets.contract.sources.languages import looks_like_cpp


@pytest.mark.parametrize(
    "text",
    [
        "class Reader {\n",
        "class Reader : public Base {\n",
        "class EXPORT Reader\n{\n",
        "namespace lib {\n",
        "namespace lib\n{\n",
        "template <class T> T first(T value);\n",
        "#ifndef __GNUC__\nclass Reader {};\n#endif\n",
    ],
)
def test_a_line_that_no_c_has_makes_a_header_cpp(text: str) -> None:
    assert looks_like_cpp(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "struct reader { int class_of; };\n",
        "// class Reader {\n/* namespace lib {\n template <class T>\n*/\nint n;\n",
        'const char *s = "class Reader {";\n',
        "#ifdef __cplusplus\nclass Reader {\n};\n#endif\nint n;\n",
        "#if defined(__cplusplus)\nnamespace lib {\n#if 1\ntemplate <class T> T f();\n#endif\n}\n#endif\n",
        "int class, namespace = 1;\nint template;\n",
    ],
)
def test_words_of_cpp_in_comments_names_or_behind_its_macro_do_not(text: str) -> None:
    assert not looks_like_cpp(text.encode())


def test_a_long_hostile_header_is_read_in_one_go() -> None:
    assert not looks_like_cpp(b"class " + b"/* " * 200_000 + b"class x " * 20_000)
