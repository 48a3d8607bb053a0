"""Documents keep the conditions of the preprocessor: each text under its own, opened and closed in order."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import assembled

ONE_DOCUMENT = SemanticRecipe(replication=0, small_share=0.0, parsed_documents=0)
CLOCK = """\
#ifndef CLOCK_H
#define CLOCK_H
#include <stddef.h>
#if defined(_WIN32)
#include <windows.h>
#elif defined(__APPLE__)
#include <mach/mach_time.h>
#else
#include <time.h>
#endif

struct Stamp { long seconds; };

#if defined(_WIN32)
long clock_now(Stamp *stamp) { stamp->seconds = GetTickCount(); return stamp->seconds; }
long clock_win(Stamp *stamp) { return clock_now(stamp) + 1; }
#elif defined(__APPLE__)
long clock_now(Stamp *stamp) { stamp->seconds = mach_absolute_time(); return stamp->seconds; }
#else
long clock_now(Stamp *stamp) { stamp->seconds = time(nullptr); return stamp->seconds; }
#ifdef TRACE
long clock_trace(Stamp *stamp) { return clock_now(stamp) + 2; }
#endif
#endif
#endif
"""
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")


def _texts(tree: Path, text: str, name: str = "a.cc") -> list[str]:
    return [each.text for each in assembled(tree, {name: text}, ONE_DOCUMENT) if isinstance(each, Document)]


def _conditions(text: str) -> dict[str, set[tuple[str, ...]]]:
    """The conditions of each other line of `text`, without guards. Fails where they are not balanced."""
    found: dict[str, set[tuple[str, ...]]] = {}
    open_: list[list[str]] = []
    for line in text.splitlines():
        match = _DIRECTIVE.match(line)
        if match is None:
            lines = [" ".join(each.split()) for arms in open_ for each in arms]
            found.setdefault(line.strip(), set()).add(tuple(lines))
        elif match[1] == "endif":
            open_.pop()
        elif match[1] in ("else", "elif"):
            open_[-1].append(line)
        else:
            open_.append([line])
    assert not open_
    return found


def test_every_arm_is_under_its_condition_with_its_own_includes(tmp_path: Path) -> None:
    text, guarded = "\n".join(_texts(tmp_path, CLOCK, "clock.h")), ("#ifndef CLOCK_H",)
    shown, known = _conditions(text), _conditions(CLOCK)
    for line in filter(None, shown):
        if line in known and line not in "{}":
            assert {guarded + each for each in shown[line]} == known[line], line
    assert "CLOCK_H" not in text and text.count("long clock_now(Stamp *stamp) {") == 3
    assert {"#include <windows.h>", "#include <time.h>", "#include <mach/mach_time.h>"} <= shown.keys()


def test_a_condition_on_a_macro_that_was_defined_under_it_is_another_condition(tmp_path: Path) -> None:
    header = """\
#pragma once
#ifndef WIDE
#if defined(__LP64__)
#define WIDE
#endif
#endif
#ifndef WIDE
typedef int wide_number;
#else
typedef long wide_number;
#endif
"""
    user = '#include "a.h"\nwide_number widest(void) { return 1000003; }\n'
    text = documents_of(tmp_path, {"a.h": header, "b.cc": user})["widest"].text
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("#")]
    assert lines[:5] == ["#ifndef WIDE", "#if defined(__LP64__)", "#define WIDE", "#endif", "#endif"]
    assert lines[5:] == ["#ifndef WIDE", "#else", "#endif"]


def test_one_function_and_two_keep_their_condition_alike(tmp_path: Path) -> None:
    one = "#ifdef FAST\nint fast(int a) { return a * 2 + 1; }\n#endif\nint slow(int a) { return a * 3 + 1; }\n"
    two = one.replace("#endif", "int faster(int a) { return fast(a) * 2; }\n#endif")
    for number, text in enumerate((one, two)):
        shown = _conditions("\n".join(_texts(tmp_path / str(number), text)))
        assert shown["int fast(int a) { return a * 2 + 1; }"] == {("#ifdef FAST",)}
        assert shown["int slow(int a) { return a * 3 + 1; }"] == {()}


def test_what_configures_an_include_stays_in_front_of_it(tmp_path: Path) -> None:
    text = '#pragma once\n#define TINY_IMPLEMENTATION\n#include "tiny.h"\n#undef TINY_IMPLEMENTATION\n'
    (made,) = _texts(tmp_path / "alone", text)
    assert made == text.removeprefix("#pragma once\n").strip()
    text = "#define _GNU_SOURCE\n#include <stdio.h>\n" + "".join(
        f"int number_{each}(int given) {{ return given * {each} + sizeof(FILE); }}\n" for each in range(3)
    )
    for made in _texts(tmp_path / "used", text):
        assert made.startswith("#define _GNU_SOURCE\n#include <stdio.h>\n")


def test_a_hash_in_a_string_alone_is_no_directive(tmp_path: Path) -> None:
    """A file with a `#` and without a directive had no documents: each raised an error."""
    text = 'static const char *comment_of(int given) { return given ? "# a comment" : "nothing of that kind"; }\n'
    assert [each.strip() for each in _texts(tmp_path, text)] == [text.strip()]


@pytest.mark.parametrize("guard", ["INNER_H", "INNER_HPP_", "INNER_H_09782039843", "INNER_H_8A1B_22CD"])
def test_the_guard_of_a_header_inside_a_file_is_left_out(guard: str, tmp_path: Path) -> None:
    """An amalgamation has headers in its middle. With the definition of its guard, text under the same `#ifndef` that
    follows would be skipped; without it, the `#ifndef` is always true."""
    text = """\
#include <stdio.h>
static int first(int given) { return given * 2 + (int)sizeof(FILE); }
#ifndef INNER_H
#define INNER_H
#include <stddef.h>
static int inner(int given) { return first(given) + (int)sizeof(size_t) + 1000000; }
static int other(int given) { return inner(given) + first(given) + 1000000; }
#endif
#ifndef FALLBACK
#define FALLBACK
#endif
static int last(int given) { return other(given) + 1000000; }
""".replace("INNER_H", guard)
    for strategy in ("clustered", "per_chunk", "file"):
        recipe = SemanticRecipe(strategy=strategy, parsed_documents=0)
        made = [each for each in assembled(tmp_path / strategy, {"a.c": text}, recipe) if isinstance(each, Document)]
        assert any("static int inner(" in each.text for each in made)
        assert not any("INNER_H" in each.text for each in made)
        assert any("#define FALLBACK" in each.text for each in made)


def test_a_guard_behind_the_version_of_a_library_is_left_out(tmp_path: Path) -> None:
    top = "#ifndef LIB_VERSION\n#define LIB_VERSION 3\n#endif\n"
    body = "int version() { return LIB_VERSION + 1000000; }\nint next() { return version() + 1000000; }\n"
    text = f"{top}#ifndef LIB_H\n#define LIB_H\n{body}#endif\n"
    [found] = [each for each in _texts(tmp_path, text, "lib.h") if "int version()" in each]
    assert found.startswith(top) and "LIB_H" not in found


def test_a_replacement_of_a_missing_function_keeps_its_condition(tmp_path: Path) -> None:
    copy = "int copy(int given) { return given + 1000000; }\nint copy_two(int given) { return copy(given) + 1000000; }"
    copy = f"#ifndef HAVE_COPY\n#define HAVE_COPY\n{copy}\n#endif\n"
    text = f"#include <stddef.h>\n{copy}int last(int given) {{ return copy(given) + 1000000; }}\n"
    shown = _conditions("\n".join(_texts(tmp_path, text)))
    assert shown["int copy(int given) { return given + 1000000; }"] == {("#ifndef HAVE_COPY",)}


def test_a_macro_at_the_top_that_guards_nothing_keeps_its_condition(tmp_path: Path) -> None:
    text = "#ifndef LIMIT\n#define LIMIT 4\n#endif\nint limit(int given) { return given + LIMIT; }\n"
    assert "#ifndef LIMIT\n#define LIMIT 4\n#endif" in "\n".join(_texts(tmp_path, text))


def test_conditions_are_balanced_and_true_of_any_tree(tmp_path: Path) -> None:
    for seed in range(12):
        draw = random.Random(seed)
        text = _random_source(draw)
        known = _conditions(text)
        for made in _texts(tmp_path / str(seed), text):
            for line, conditions in _conditions(made).items():
                if line.startswith("int f"):
                    assert conditions == known[line], (seed, line)


def _random_source(draw: random.Random) -> str:
    lines: list[str] = []
    depth, names = 0, iter(range(1000))
    for _ in range(40):
        step = draw.choice(("#if", "#else", "#endif", "f", "f", "f"))
        if step == "#if" and depth < 3:
            lines.append(f"#if A{draw.randrange(4)}")
            depth += 1
        elif step == "#else" and depth and not lines[-1].startswith("#el"):
            lines.append(f"#elif B{next(names)}")
        elif step == "#endif" and depth:
            lines.append("#endif")
            depth -= 1
        elif step == "f":
            number = next(names)
            lines.append(f"int f{number}(int given) {{ return given * {number} + f{max(0, number - 3)}(given); }}")
    return "\n".join([*lines, *["#endif"] * depth]) + "\n"


def test_text_with_half_of_a_conditional_is_no_context(tmp_path: Path) -> None:
    torn = "static const double\n#ifdef WIDE\nmost[] = { 1e16 };\n#define COUNT 1\n#else\nmost[] = { 1e8 };\n#endif\n"
    user = "int user(unknown_t v) { return v * most[0] + 1000000; }\n"
    for document in documents_of(tmp_path, {"a.cc": torn + user}).values():
        assert len(re.findall("#if", document.text)) == len(re.findall("#endif", document.text))


def test_macros_of_the_library_do_not_come_along_with_a_standard_header(tmp_path: Path) -> None:
    sources = {
        "lib.h": "#define _GNU_SOURCE\n#ifndef LIB_API\n#define LIB_API extern\n#endif\n#include <stdio.h>\n"
        'inline int shown(int v) { return printf("%d", v) + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources)["shown"].text
    assert "#define _GNU_SOURCE\n" in text and "LIB_API" not in text and "#include <stdio.h>" in text


def test_a_macro_that_its_header_alone_does_not_define_comes_with_its_condition(tmp_path: Path) -> None:
    arms = "#if SIZE == 1\n#define TABLE {1}\n#elif SIZE == 3\n#define TABLE {1, 2, 3}\n#endif\n"
    sources = {
        "table.h": arms,
        "sizes.h": "#define SIZE 3\n",
        "user.cc": '#include "sizes.h"\n#include "table.h"\n'
        "int user(int v) { int of[] = TABLE; return of[v] + 100000; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("#define SIZE 3") < text.index("#elif SIZE == 3\n") < text.index("#define TABLE {1, 2, 3}")
    assert "TABLE {1}" not in text


def test_an_include_under_a_condition_that_calls_an_unknown_macro_is_left_out(tmp_path: Path) -> None:
    has = "#define HAS_INCLUDE(x) __has_include(x)\n"
    under = '#if HAS_INCLUDE("own.h")\n#include "own.h"\n#endif\n'
    user = f"{under}#include <set>\nstd::set<int> user() {{ return {{{'1000000, ' * 40}}}; }}\n"
    own = {"own.h": "#pragma once\n"}
    elsewhere = own | {"has.h": f"#pragma once\n{has}", "user.cc": f'#include "has.h"\n{user}'}
    text = documents_of(tmp_path / "elsewhere", elsewhere)["user"].text
    assert "HAS_INCLUDE" not in text and "#include <set>\n" in text
    text = documents_of(tmp_path / "before", own | {"user.cc": has + user})["user"].text
    assert text.startswith(has + under)


HEADS = """\
#define WIDE 1
#if WIDE
struct Wide { int high; };
#include "middle.h"
inline bool less(Middle one, int other)
#else
inline bool less(int one, int other)
#endif
{
    return one.wide.high + other < 1000000;
}
"""


def test_a_function_with_a_head_in_each_arm_stands_under_its_condition_and_closes_it(tmp_path: Path) -> None:
    heads = HEADS.replace("WIDE 1", "WIDE 0").replace("Wide wide", "int wide")
    text = documents_of(tmp_path, {"a.cc": heads, "middle.h": "struct Middle { int wide; };\n"})["less"].text
    assert _conditions(text)["inline bool less(int one, int other)"] == {("#if WIDE", "#else")}
    assert text.endswith("\n#endif\n{\n    return one.wide.high + other < 1000000;\n}")


def test_a_function_that_closes_its_condition_keeps_context_under_that_condition(tmp_path: Path) -> None:
    less = documents_of(tmp_path, {"a.cc": HEADS, "middle.h": "struct Middle { Wide wide; };\n"})["less"]
    conditions = _conditions(less.text)
    assert less.broken_rule == "" and conditions["struct Wide { int high; };"] == {("#if WIDE",)}
    assert conditions["struct Middle { Wide wide; };"] == {()}
    assert conditions["inline bool less(Middle one, int other)"] == {("#if WIDE",)}
