"""What the parser can see of the machine: the tree and the toolchain's headers, whatever a source asks for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.toolchain import Toolchain, header_names, self_test
from tests.semantic.parsing_trees import parse_in_process, toolchain

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
