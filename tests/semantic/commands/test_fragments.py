from __future__ import annotations

from megacpp_assets.semantic.commands.fragments import within_includers, within_sound
from megacpp_assets.semantic.commands.plan import Unit

TREE = {
    "src/common.c": b"number sum(number a, number b) { return a + b; }\n",
    "src/large.c": b'#define number long\n#include "common.c"\n',
    "src/small.c": b'#define number int\n#include "common.c"\n',
    "src/tool.c": b"int tool(void) { return 1; }\n",
    "tests/first.c": b'#include "../src/tool.c"\n',
    "tests/second.c": b'#include "../src/tool.c"\n',
}


def _through(tree: dict[str, bytes]) -> dict[str, str]:
    units = [Unit(path, ("-xc",), "inferred", header=False) for path in sorted(tree)]
    return {unit.path: unit.through for unit in within_includers(units, tree.__getitem__) if unit.through}


def test_a_source_that_two_of_its_folder_include_is_parsed_in_the_first() -> None:
    assert _through(TREE) == {"src/common.c": "src/large.c"}


def test_a_source_that_one_source_includes_is_parsed_by_itself() -> None:
    assert not _through({path: text for path, text in TREE.items() if path != "src/small.c"})


LIBRARY = {
    "lib.c": b'#include "types.h"\n#ifdef WITH_TLS\n#include "tls.h"\n#endif\n#if _WIN32\n#include "win.h"\n#endif\n',
    "tls.h": b"#pragma once\nnumber open_tls(void);\n",
    "types.h": b"#pragma once\ntypedef int number;\n",
    "win.h": b"#pragma once\nnumber open_win(void);\n",
}


def _sound(wanted: str) -> list[Unit]:
    units = [Unit(path, ("-xc",), "inferred", header=path.endswith(".h")) for path in sorted(LIBRARY)]
    return within_sound(units, {wanted}, {wanted}, LIBRARY.__getitem__)


def test_a_header_with_errors_is_parsed_where_a_macro_switches_it_on() -> None:
    (unit,) = _sound("tls.h")
    assert (unit.path, unit.through, unit.arguments) == ("tls.h", "lib.c", ("-xc", "-DWITH_TLS"))


def test_a_condition_on_the_compiler_is_not_switched() -> None:
    (unit,) = _sound("win.h")
    assert (unit.through, unit.arguments) == ("lib.c", ("-xc",))
