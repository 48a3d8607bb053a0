from __future__ import annotations

import random
import re
from codecs import BOM_UTF8

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.infer import Inference, infer
from megacpp_assets.semantic.tree.includes import include_spellings


def guess(files: dict[str, str], templates: dict[str, str] | None = None) -> Inference:
    sources = [(path, text.encode()) for path, text in files.items()]
    return infer([*files, *(templates or {})], sources, templates or {})


def test_folders_cover_what_the_files_include() -> None:
    files = {
        "include/lib/a.h": '#include "lib/b.h"\n', "include/lib/b.h": "", "src/a.cpp": "#include <lib/a.h>\n",
        "src/detail/x.h": "", "src/main.cpp": '#include "detail/x.h"\n#include <vector>\n',
        "tests/t.cpp": '#include "util.h"',
        "tests/util.h": "", "vendor/zip/zip.h": "", "tests/z.cpp": "  #  include <zip.h>\n",
    }  # fmt: skip
    assert guess(files).folders == ("include", "vendor/zip")


def test_a_folder_that_shadows_a_system_header_is_never_chosen() -> None:
    files = {"lib/time/time.h": "", "lib/time/clock.h": "", "a.cpp": "#include <clock.h>\n#include <time.h>\n"}
    assert guess(files).folders == ()
    assert guess({**files, "b.cpp": '#include "time/clock.h"\n'}).folders == ("lib",)


def test_the_order_of_files_does_not_matter() -> None:
    files = {f"m{index}/include/m{index}/h.h": f"#include <m{(index + 1) % 9}/h.h>\n" for index in range(9)}
    paths = list(files)
    expected = guess(files)
    for seed in range(5):
        random.Random(seed).shuffle(paths)
        assert guess({path: files[path] for path in paths}) == expected
    assert len(expected.folders) == 9


def test_the_root_is_a_folder_too_and_usual_names_win_ties() -> None:
    assert guess({"lib/a.h": "", "x/a.cpp": "#include <lib/a.h>\n"}).folders == (".",)
    assert guess({"zz/include/a.h": "", "aa/copy/a.h": "", "x/a.cpp": "#include <a.h>\n"}).folders == ("zz/include",)


def test_spellings_that_could_leave_the_tree_are_ignored() -> None:
    source = b'#include "/etc/passwd"\n#include "../a.h"\n#include <ok/b.h>\n#include MACRO\n#include "\xff.h"\n'
    assert include_spellings(source) == [(False, "ok/b.h")]


_PIECES = [
    b"\n",
    b"\r",
    b" \t",
    b"\f",
    b"#",
    b"# include",
    b"#include_next",
    b"<",
    b">",
    b'"',
    b"a.h",
    b'"x/b.h"',
    b"//",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=20).map(b"".join))
def test_an_include_is_first_in_its_line_after_blanks(source: bytes) -> None:
    form = re.compile(rb"""[ \t]*#[ \t]*(?:include_next|include)[ \t]*([<"])([^>"\r]{1,255})[>"]""")
    found = [(match[1] == b'"', match[2].decode()) for line in source.split(b"\n") if (match := form.match(line))]
    assert include_spellings(source) == [pair for pair in found if "" not in pair[1].split("/")]


def test_an_include_may_stand_behind_a_byte_order_mark() -> None:
    assert include_spellings(BOM_UTF8 + b'#include "a.h"\n') == [(True, "a.h")]


def test_a_template_of_a_missing_header_becomes_a_stub_with_everything_off() -> None:
    template = "#cmakedefine HAVE_X 1\n#cmakedefine01 HAVE_Y\n#define VERSION @VERSION_MAJOR@\n"
    found = guess({"src/a.cpp": '#include "lib/config.h"\n'}, {"cmake/config.h.in": template})
    assert found.stubs == {"lib/config.h": "/* #undef HAVE_X */\n#define HAVE_Y 0\n#define VERSION 0\n"}


def test_a_header_for_windows_is_not_taken_where_the_tree_has_a_template_of_it() -> None:
    files = {"src/a.c": '#include "event/config.h"\n', "win32/nmake/event/config.h": "#define WINDOWS\n"}
    assert guess(files, {}).folders == ("win32/nmake",)
    found = guess(files, {"event/config.h.in": "#define OTHERS\n"})
    assert (found.folders, found.stubs) == ((), {"event/config.h": "#define OTHERS\n"})


def test_a_spelling_that_cannot_be_a_file_gets_no_stub() -> None:
    assert guess({"src/a.cpp": '#include "x\0y/x.h"\n'}, {"x.h.in": ""}).stubs == {}


def test_a_header_that_exists_needs_no_stub() -> None:
    files = {"src/a.cpp": '#include "config.h"\n', "include/config.h": ""}
    assert guess(files, {"include/config.h.in": ""}).stubs == {}
