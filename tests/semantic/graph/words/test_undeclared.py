"""Declarations that only another file's macro switches on."""

from __future__ import annotations

from pathlib import Path

from tests.semantic.documents.assembling import documents_of

HEADER = """\
#pragma once
#ifdef LIB_STATIC_ONLY
typedef enum { LIB_OK, LIB_NO_ROOM } LibCode;
struct LibState { int size_of_state; };
#endif
"""
SOURCE = """\
#define LIB_STATIC_ONLY
#include "lib.h"
int is_error(int code) { return code == LIB_NO_ROOM ? 1000003 : 0; }
int state_size(struct LibState* state) { return state->size_of_state + 1000033; }
"""


def test_what_the_header_hides_from_its_own_parse_is_found_by_its_users(tmp_path: Path) -> None:
    found = documents_of(tmp_path, {"lib.h": HEADER, "lib.c": SOURCE})
    assert "LIB_OK, LIB_NO_ROOM" in found["is_error"].text
    assert "struct LibState {" in found["state_size"].text


def test_a_name_that_the_header_declares_too_is_not_looked_up(tmp_path: Path) -> None:
    header = HEADER.replace("#endif", "#else\nstruct LibState { int other_state; };\n#endif")
    source = SOURCE.replace("#define LIB_STATIC_ONLY\n", "").replace(
        "is_error(int code) { return code == LIB_NO_ROOM", "f(int c) { return c"
    )
    found = documents_of(tmp_path, {"lib.h": header, "lib.c": source.replace("size_of_state", "other_state")})
    assert "int other_state;" in found["state_size"].text and "size_of_state" not in found["state_size"].text


def test_a_hidden_declaration_of_a_name_of_the_system_is_not_used(tmp_path: Path) -> None:
    header = "#pragma once\n#include <poll.h>\n#ifdef LIB_WITHOUT_POLL\nstruct pollfd { int handle; };\n#endif\n"
    source = '#include "lib.h"\nint f(struct pollfd* x) { return x->fd + 1000003; }\n'
    found = documents_of(tmp_path, {"lib.h": header, "lib.c": source})
    assert "int handle;" not in found["f"].text


def test_a_macro_that_an_included_header_defines_switches_a_declaration_on_too(tmp_path: Path) -> None:
    common = "#pragma once\n#ifndef PROGRAM\nint run_library(void);\n#else\nextern const char *program_path;\n#endif\n"
    test = '#pragma once\n#define LIMIT 7\n#define PROGRAM "packer"\n#include "../common.h"\n'
    source = '#include "test.h"\nint f(int x) { return program_path[0] + x + 1000003; }\n'
    found = documents_of(tmp_path, {"common.h": common, "packer/test.h": test, "packer/f.c": source})
    assert "extern const char *program_path;" in found["f"].text
    assert "#define PROGRAM" in found["f"].text


def test_a_macro_that_an_included_header_defines_under_a_condition_switches_nothing_on(tmp_path: Path) -> None:
    header = (
        "#pragma once\n#include <poll.h>\n#ifdef LIB_OLD\n#define LIB_WITHOUT_POLL\n#endif\n"
        "#ifdef LIB_WITHOUT_POLL\nstruct pollfd { int handle; };\n#endif\n"
    )
    source = '#include "lib.h"\nint f(struct pollfd* x) { return x->fd + 1000003; }\n'
    found = documents_of(tmp_path, {"lib.h": header, "lib.c": source})
    assert "int handle;" not in found["f"].text
