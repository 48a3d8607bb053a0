"""The top of a document: includes, and what configures them."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.included import Included
from megacpp_assets.semantic.graph.directives import HeadLine
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.spaces import Span
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import assembled, by_root, index

FILE = SemanticRecipe(strategy="file", replication=0, body_depth=0)


def test_a_reserved_name_that_a_root_defines_is_repeated_above_the_includes(tmp_path: Path) -> None:
    sources = {
        "time.c": "#ifndef __sun__\n# define _XOPEN_SOURCE 700\n#else\n# define _XPG6\n#endif\n#include <time.h>\n"
        "#include <stdlib.h>\nint parsed(const char *text) {\n"
        '  struct tm out;\n  return strptime(text, "%Y", &out) != NULL ? atoi(text) : 1000000;\n}\n',
    }
    document = by_root(assembled(tmp_path, sources, FILE))["_XOPEN_SOURCE"]
    assert document.text.index("_XOPEN_SOURCE 700") < document.text.index("#include")
    roots = [document.text[part.char_start : part.char_end] for part in document.constituents if part.role == ROOT_ROLE]
    assert "_XOPEN_SOURCE 700" in roots[0]
    assert [part.byte_start for part in document.constituents].count(0) == 1


PORT = """\
#pragma once
#ifdef __linux__
#define HAS_EVENTS 1
#else
#define HAS_EVENTS 0
#endif
#if HAS_EVENTS
#include <sys/eventfd.h>
#endif
struct Lock {
#if HAS_EVENTS
  int descriptor;
#endif
  int state;
};
"""
BODY = "  n += n * n;\n" * 60
USER = f'#include "port.h"\nint user(Lock &lock) {{\n  int n = 1000003;\n{BODY}  return lock.state + n;\n}}\n'


def _text(tree: Path, port: str) -> str:
    """Return the document of USER, to which `port` is the context."""
    return by_root(assembled(tree, {"port.h": port, "a.cc": USER}, SemanticRecipe(replication=0)))["user"].text


def test_an_include_comes_behind_the_macro_on_which_it_depends_if_the_text_defines_that(tmp_path: Path) -> None:
    text = _text(tmp_path, PORT)
    places = [text.index(each) for each in ("#define HAS_EVENTS 1", "#include <sys/eventfd.h>", "int descriptor;")]
    assert places == sorted(places)


def test_an_include_whose_condition_names_no_macro_of_the_text_stays_at_the_top(tmp_path: Path) -> None:
    text = _text(tmp_path, PORT.replace("#if HAS_EVENTS\n#include", "#if __linux__\n#include"))
    assert text.startswith("#if __linux__\n#include <sys/eventfd.h>\n#endif\n")


@pytest.mark.parametrize(("defined", "shown"), [(frozenset[str](), 1), (frozenset(("LIB_HAS",)), 2)])
def test_a_definition_whose_condition_calls_a_macro_that_nobody_defines_is_left_out(
    defined: frozenset[str], shown: int
) -> None:
    condition = Condition((_span(0, 20),), _span(50, 60), ("#if LIB_HAS(events)",))
    define = HeadLine(_span(21, 49), ("", "LIB_FORMAT"), (condition,), 0, dropped=False)
    include = HeadLine(_span(61, 90), ("<", "lib/events.h"), (), 0, dropped=False)
    chosen = Included(1000, frozenset(), macros=defined).chosen([define, include], frozenset(), is_root_file=True)
    assert chosen == [define, include][-shown:]


@pytest.mark.parametrize(
    ("says", "is_shown"),
    [
        (("#ifdef LIB_EVENTS",), True),
        (("#ifndef LIB_EVENTS",), True),
        (("#ifdef __linux__", "#if LIB_EVENTS"), True),
        (("#ifdef __linux__",), False),
    ],
)
def test_a_macro_configures_a_header_of_the_standard_if_a_condition_around_that_names_it(
    says: tuple[str, ...], is_shown: bool
) -> None:
    define = HeadLine(_span(0, 20), ("", "LIB_EVENTS"), (), 0, dropped=False)
    conditions = tuple(Condition((_span(21, 40),), _span(90, 97), (each,)) for each in says)
    include = HeadLine(_span(61, 90), ("<", "sys/epoll.h"), conditions, 0, dropped=False)
    chosen = Included(1000, frozenset()).chosen([define, include], frozenset(), is_root_file=True)
    assert chosen == ([define] if is_shown else []) + [include]


def test_an_include_comes_without_the_directives_that_follow_another_one() -> None:
    first, second = (HeadLine(_span(at, at + 20), ("<", f"lib/{at}.h"), (), 0, dropped=False) for at in (0, 50))
    define = HeadLine(_span(25, 45), ("", "LIB_MODE"), (), 0, dropped=False)
    own, others = (
        HeadLine(_span(at, at + 15), ("", "MIN"), (), 0, False, undefines) for at, undefines in ((75, 50), (20, 0))
    )
    lines = [first, others, define, second, own]
    assert Included(42, frozenset()).chosen(lines, frozenset(), is_root_file=True) == [first, others]
    assert Included(1000, frozenset()).chosen([first, define, second, own], frozenset(), is_root_file=True)[1:] == [
        define,
        second,
        own,
    ]


def test_an_undefinition_belongs_to_the_include_in_front_of_it(tmp_path: Path) -> None:
    text = "#include <sys/wait.h>\n#include <sys/types.h>\n#undef major\n#undef minor\nint a;\n"
    repository, _ = index(tmp_path, {"a.h": text})
    lines = repository.directives.head(0)
    assert [line.undefines for line in lines] == [-1, -1, lines[1].span.start, lines[1].span.start]


def _span(start: int, end: int) -> Span:
    return Span(start, end, start, end)


def test_all_definitions_of_a_macro_that_configures_an_include_come_with_it(tmp_path: Path) -> None:
    mode = "#ifdef LIB_FAST\n#define LIB_MODE fast\n#else\n#define LIB_MODE slow\n#endif\n"
    filler = "".join(f"#define LIB_SIZE_{number} {number}\n" for number in range(7))
    repository, _ = index(tmp_path, {"a.h": f"{mode}{filler}#include <sys/eventfd.h>\n"})
    assert [line.spelling[1] for line in repository.directives.head(0)].count("LIB_MODE") == 2


def test_a_definition_of_a_macro_that_the_text_defines_is_left_out(tmp_path: Path) -> None:
    never = "#ifdef NEVER\n#define HAS_EVENTS 0\n#endif\n"
    other = f"#pragma once\n{never}#include <sys/timerfd.h>\nstruct Timer {{ int at; }};\n"
    sources = {
        "port.h": PORT,
        "other.h": other,
        "a.cc": '#include "other.h"\n'
        + USER.replace("int n = 1000003;", "Timer timer = {1000003};\n  int n = timer.at;"),
    }
    text = by_root(assembled(tmp_path, sources, SemanticRecipe(replication=0)))["user"].text
    assert "#include <sys/timerfd.h>" in text and "#define HAS_EVENTS 1" in text
    assert "NEVER" not in text


def test_an_include_comes_behind_a_definition_that_depends_on_a_macro_of_the_text(tmp_path: Path) -> None:
    define = "#if HAS_EVENTS\n#define LIB_EVENTS 1\n#endif\n"
    include = "#if LIB_EVENTS\n#include <sys/timerfd.h>\n#endif\n"
    sources = {
        "port.h": PORT,
        "other.h": f'#pragma once\n#include "port.h"\n{define}{include}struct Timer {{ int at; }};\n',
        "a.cc": '#include "other.h"\n'
        + USER.replace("int n = 1000003;", "Timer timer = {1000003};\n  int n = timer.at;"),
    }
    text = by_root(assembled(tmp_path, sources, SemanticRecipe(strategy="per_chunk", replication=0)))["user"].text
    places = [text.index(each) for each in ("#define HAS_EVENTS 1", "#define LIB_EVENTS 1", "#include <sys/timerfd.h>")]
    assert places == sorted(places)


@pytest.mark.parametrize("where", ["user.c", "test.h"])
def test_what_a_header_shows_to_files_that_define_a_macro_comes_with_its_definition(where: str, tmp_path: Path) -> None:
    common = "#pragma once\n#ifndef PROGRAM\nint run(void);\n#else\nextern const char *path;\n#endif\n"
    # The comment makes the definition of the variable longer than its declaration in the header.
    source = f"/* {'word ' * 30}*/\nconst char *path;\nint set(const char *to) {{ path = to; return 1000003; }}\n"
    first = {where: '#define PROGRAM 1\n#include "common.h"\n'}
    user = "int user(int x) { return path[0] + x + 1000033; }\n"
    sources = {"common.h": common, "main.c": '#define PROGRAM 2\n#include "common.h"\n' + source, **first}
    sources["user.c"] = sources.get("user.c", '#include "test.h"\n') + user
    text = documents_of(tmp_path, sources, 400)["user"].text
    assert text.index("#define PROGRAM 1") < text.index("extern const char *path;") < text.index("user(")
    assert text.count("#define PROGRAM") == 1


def test_a_macro_of_a_generated_header_is_defined_behind_the_includes(tmp_path: Path) -> None:
    sources = {
        "lib.h": '#pragma once\n#include "lib_export.h"\nclass LIB_EXPORT Reader {\n public:\n  int at() const;\n};\n',
        "lib.cc": '#include "lib.h"\nint Reader::at() const { return 1000000; }\nint other() { return 2000000; }\n',
    }
    texts = {name: each.text for name, each in by_root(assembled(tmp_path, sources, FILE)).items()}
    assert "#define LIB_EXPORT\n\nclass LIB_EXPORT Reader {" in texts["Reader::at"]
