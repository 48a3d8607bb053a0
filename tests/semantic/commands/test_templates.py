"""Stubs for headers that only a build makes, from their templates."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.commands.templates import MOST_STUBS, rendered, stubs_of


@pytest.mark.parametrize(
    ("template", "header"),
    [
        ("#cmakedefine HAVE_X 1\n#cmakedefine01 HAVE_Y\n", "/* #undef HAVE_X */\n#define HAVE_Y 0\n"),
        ("#define MAJOR @MAJOR@\n#define MINOR ${MINOR}\n", "#define MAJOR 0\n#define MINOR 0\n"),
        ("#cmakedefine HAVE_UNISTD_H 1\n", "#define HAVE_UNISTD_H 1\n"),
        ("#  cmakedefine01 LIB_HAVE_STDINT_H\n", "#  define LIB_HAVE_STDINT_H 1\n"),
        ("#undef HAVE_SYS_MMAN_H\n#undef HAVE_SYS_CTL_H\n", "#define HAVE_SYS_MMAN_H 1\n#undef HAVE_SYS_CTL_H\n"),
        (
            "#undef HAVE_STRUCT_TIMEVAL\n#undef EV_HAVE_SSIZE_T\n",
            "#define HAVE_STRUCT_TIMEVAL 1\n#define EV_HAVE_SSIZE_T 1\n",
        ),
        ("#undef HAVE_MY_T\n#undef HAVE_STRUCT_MINE\n", "#undef HAVE_MY_T\n#undef HAVE_STRUCT_MINE\n"),
        ("#undef SIZEOF_LONG\n#undef SIZEOF_MINE\n", "#define SIZEOF_LONG __SIZEOF_LONG__\n#undef SIZEOF_MINE\n"),
        ("#define EV_SIZEOF_VOID_P @EV_SIZEOF_VOID_P@\n", "#define EV_SIZEOF_VOID_P __SIZEOF_POINTER__\n"),
        ("#define LIB_TYPEOF_LIB_SSIZE_T @LIB_TYPEOF_LIB_SSIZE_T@\n", "#define LIB_TYPEOF_LIB_SSIZE_T ssize_t\n"),
        ("#define EV__ssize_t @EV__ssize_t@\n", "#define EV__ssize_t ssize_t\n"),
        ("#define EV__inline @EV__inline@\n", "#define EV__inline inline\n"),
        ("#cmakedefine01 HAVE_T\n#cmakedefine01 HAVE_H\n", "#define HAVE_T 0\n#define HAVE_H 0\n"),
        ("#if ${HAVE_SYS_UIO_H_01}\n#endif\n", "#if 1\n#endif\n"),
        ("#define LIB_NAMESPACE @LIB_NAMESPACE@\n", "#define LIB_NAMESPACE LIB_NAMESPACE\n"),
        ("struct Pair {\n}@UNUSED@;\n@MORE_INCLUDES@\n", "struct Pair {\n};\n\n"),
    ],
)
def test_a_template_is_rendered_with_the_headers_of_the_system_and_nothing_else(template: str, header: str) -> None:
    assert rendered(template) == header


def test_the_first_of_several_arms_is_taken_if_the_last_one_is_an_error() -> None:
    arms = "#if @C99@ // first\ntypedef int a;\n#elif @BSD@\ntypedef int b;\n#else\n# error Unknown\n#endif\n"
    assert rendered(arms).startswith("#if 1 // first\n") and "#elif 0\n" in rendered(arms)
    assert rendered(arms.replace("# error Unknown", "typedef int c;")).startswith("#if 0 // first\n")


def test_a_header_that_only_a_stub_includes_is_a_stub_too() -> None:
    templates = {
        "src/lib.h.in": '#include "lib/types.h"\n#include "own.h"\n',
        "src/types.h.in": "typedef int number;\n",
    }
    stubs = stubs_of(["lib/lib.h"], templates | {"other/own.h.in": ""}, {"own.h"})
    assert stubs.keys() == {"lib/lib.h", "lib/types.h"}


def test_templates_that_include_each_other_become_one_stub_each() -> None:
    templates = {"a.h.in": '#include "b.h"\n', "b.h.in": '#include "a.h"\n'}
    assert stubs_of(["a.h"], templates, ()).keys() == {"a.h", "b.h"}


def test_the_number_of_stubs_is_limited() -> None:
    includes = "".join(f'#include "{number}/a.h"\n' for number in range(2 * MOST_STUBS))
    assert len(stubs_of(["a.h"], {"a.h.in": includes}, ())) == MOST_STUBS
