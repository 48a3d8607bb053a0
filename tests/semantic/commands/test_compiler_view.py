"""What the parser can see of the machine: the tree and the toolchain's headers, whatever a source asks for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.toolchain import Toolchain, header_names, self_test
from megacpp_assets.semantic.parsing.parse import parse_tree
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, parse_in_process, toolchain, write_tree

PROBES = (
    "/etc/passwd", "/proc/self/environ", "/proc/self/cwd/a.h", "/dev/zero", "/dev/stdin", "../beside.h",
    "./../beside.h", "sub/../../beside.h", "/../etc/passwd", "//etc/passwd", "/usr/include/../../etc/passwd",
)  # fmt: skip


@pytest.mark.parametrize("path", PROBES)
def test_a_path_outside_cannot_be_probed_nor_included(tmp_path: Path, path: str) -> None:
    (tmp_path / "beside.h").write_text("int beside;\n")
    probe = f'#if __has_include("{path}")\n#error it is there\n#endif\n'
    found = parse_in_process(
        tmp_path / "tree", {"probe.cpp": probe, "read.cpp": f'#include "{path}"\n', "a.h": "", "sub/b.h": ""}
    )
    assert (found["probe.cpp"].errors, found["read.cpp"].errors) == (0, 1)
    assert found["read.cpp"].includes == ()


def test_headers_of_the_tree_and_of_the_toolchain_are_visible(tmp_path: Path) -> None:
    text = (
        '#include <vector>\n#include <immintrin.h>\n#include <unistd.h>\n#include <ext/rope>\n#include "sub/../b.h"\n'
    )
    found = parse_in_process(tmp_path, {"a.cpp": text, "b.h": "int b;\n", "sub/c.h": ""})
    assert (found["a.cpp"].status, found["a.cpp"].includes) == ("clean", ("b.h",))


def test_a_header_that_is_visible_alone_does_not_show_what_is_beside_it(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "headers"
    write_tree(folder, {"shown.h": "int shown;\n", "beside.h": "int beside;\n"})
    shown, beside = (str(folder / name) for name in ("shown.h", "beside.h"))
    tree = write_tree(tmp_path / "tree", {"a.c": f'#include "{shown}"\n', "b.c": f'#include "{beside}"\n'})
    whole = toolchain()
    opened = replace(
        whole, header_roots=(*whole.header_roots, shown), header_names=(*whole.header_names, (shown, shown))
    )
    found = parse_tree(tmp_path / "tree", tree, opened, InProcess(), options=IN_PROCESS)
    assert {file.path: file.errors for file in found} == {"a.c": 0, "b.c": 1}


def test_a_link_to_a_folder_shows_under_the_name_that_the_compiler_spells(tmp_path: Path) -> None:
    real = tmp_path / "usr" / "include" / "c++" / "12"
    real.mkdir(parents=True)
    (tmp_path / "lib").symlink_to(tmp_path / "usr" / "lib")
    (tmp_path / "usr" / "lib" / "gcc" / "x" / "12").mkdir(parents=True)
    spelled = f"{tmp_path}/lib/gcc/x/12/../../../../include/c++/12/bits/a.h"
    names = dict(header_names([spelled], [os.path.realpath(real)]))
    assert names == {
        os.path.realpath(real): os.path.realpath(real),
        f"{tmp_path}/include/c++/12": os.path.realpath(real),
    }


def test_a_toolchain_whose_headers_the_view_hides_is_rejected() -> None:
    whole = toolchain()
    names = tuple(pair for pair in whole.header_names if "c++" not in pair[0])
    blind = Toolchain(whole.library, whole.resource_dir, whole.header_roots, names, whole.identity)
    with pytest.raises(EnvironmentLacks, match="vector"):
        self_test(whole.library, whole.resource_dir, blind)
