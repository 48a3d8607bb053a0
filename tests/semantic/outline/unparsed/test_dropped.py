from __future__ import annotations

import tempfile
from pathlib import Path

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.semantic.graph.analysis.analysis import analyse
from megacpp_assets.semantic.tree.text import decode
from tests.semantic.parsing_trees import listing, parse_in_process


def labels(text: str) -> dict[str, str]:
    """Category -> the text of that category, white space dropped, as the stage paints it."""
    with tempfile.TemporaryDirectory() as name:
        parsed = parse_in_process(Path(name), {"a.cc": text})["a.cc"]
    _, chars = analyse(listing({"a.cc": text})[0], decode("a.cc", text.encode()), parsed)
    found: dict[str, str] = {}
    for character, category in zip(text, chars[c.STRUCTURE_IDS].tolist(), strict=True):
        if not character.isspace():
            name = STRUCTURE_CATEGORIES[category]
            found[name] = found.get(name, "") + character
    return found


def test_dropped_text_in_a_class_is_parsed_as_class_text() -> None:
    found = labels("struct S {\n#ifdef NONE\n  S(int v) : n(v) {}\n  int n;\n#endif\n};\n")
    assert found["func_sig"] == "S(intv):n(v)"
    assert found["func_body"] == "{}"
    assert found["class_member"] == "intn;"


def test_a_head_that_a_dropped_branch_opens_is_labelled() -> None:
    found = labels("#ifdef NONE\nint wide(int v) {\n#else\nint narrow(int v) {\n#endif\n  return v;\n}\n")
    assert found["func_sig"] == "intwide(intv)intnarrow(intv)"
    assert found["func_body"] == "{{returnv;}"


def test_directives_inside_dropped_text_do_not_hide_it() -> None:
    text = '#if 0\n#ifdef A\nextern "C" {\n#endif\nint f() { return 1; }\n#ifdef A\n}\n#endif\n#endif\n'
    found = labels(text)
    assert found["namespace"] == 'extern"C"{}'
    assert found["func_sig"] == "intf()"


def test_macros_of_the_file_do_not_break_dropped_text() -> None:
    text = (
        "#define OPEN namespace a {\n#define CLOSE }\n#define NOTE\nOPEN\nNOTE\nint f();\nCLOSE\n"
        "#ifdef NONE\nOPEN\n\nNOTE\ntemplate <typename T> struct G {\n  NOTE auto get() -> T { return T(); }\n};\n"
        "CLOSE\n#endif\n"
    )
    found = labels(text)
    assert found["namespace"] == "OPENCLOSEOPENCLOSE"
    assert found["other"] == "NOTENOTE"
    assert found["func_sig"] == "intf();NOTEautoget()->T"


def test_macro_invocations_in_dropped_text_are_declarations() -> None:
    text = (
        "#define KIND(t) struct K;\n#define MAKE(n) void n()\nKIND(int)\nMAKE(a) {}\n"
        "#ifdef NONE\nKIND(const char8_t)\nKIND(long double);\nMAKE(b) { return; }\n#endif\n"
    )
    found = labels(text)
    assert found["other"] == "KIND(int)KIND(constchar8_t)KIND(longdouble);"
    assert found["func_sig"] == "MAKE(a)MAKE(b)"
    assert found["func_body"] == "{}{return;}"


def test_a_body_that_macros_cut_short_ends_at_its_brace() -> None:
    body = "{\n  TRY { one(); }\n  CATCH(...) {}\n  two(error, 1);\n}"
    found = labels(f"#if 0\nvoid f(int error) noexcept {body}\nint next();\n#endif\n")
    assert found["func_body"] == "".join(body.split())
    assert found["func_sig"] == "voidf(interror)noexceptintnext();"
