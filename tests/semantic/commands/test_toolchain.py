from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.toolchain import (
    ENVIRONMENT,
    _describe,
    library_headers,
    self_test,
    working_directory,
)
from tests.semantic.parsing_trees import parse_in_process, toolchain, write_tree


def test_the_identity_holds_versions_and_no_path() -> None:
    identity = toolchain().identity
    assert identity["libclang"].startswith("clang version 18.")
    assert re.fullmatch(r"glibc 2\.\d+|not glibc", identity["c_library"])
    assert re.fullmatch(r"c\+\+/\S+ (__GLIBCXX__ \d{8}|_LIBCPP_VERSION \d+)", identity["cxx_library"])
    assert not any(str(Path.cwd()) in value or "/usr" in value for value in identity.values())


def test_the_recorded_versions_are_those_that_a_source_sees(tmp_path: Path) -> None:
    identity = toolchain().identity
    if identity["c_library"] == "not glibc" or "__GLIBCXX__" not in identity["cxx_library"]:
        pytest.skip("another C or C++ library")
    major, minor = identity["c_library"].removeprefix("glibc ").split(".")
    date = identity["cxx_library"].split()[-1]
    text = f"""#include <vector>
static_assert(__GLIBC__ == {major} && __GLIBC_MINOR__ == {minor} && __GLIBCXX__ == {date});
"""
    found = parse_in_process(tmp_path, {"right.cpp": text, "wrong.cpp": text.replace(date, "19990101")})
    assert {path: file.errors for path, file in found.items()} == {"right.cpp": 0, "wrong.cpp": 1}


def test_libraries_of_other_versions_or_makers_are_other_identities(tmp_path: Path) -> None:
    def libraries_of(**texts: str) -> dict[str, str]:
        folder = tmp_path / "_".join(texts) / str(len(list(tmp_path.iterdir())))
        paths = {"features": "features.h", "config": "c++config.h", "other": "vector"}
        write_tree(folder, {paths[name]: text for name, text in texts.items()})
        includes = [str(path) for path in folder.iterdir()]
        return dict(_describe("", folder, "", includes).identity)

    old, new = (f"#define\t__GLIBC__\t2\n# define __GLIBC_MINOR__ {minor}\n" for minor in (31, 36))
    assert libraries_of(features=old)["c_library"] == "glibc 2.31"
    assert libraries_of(features=new)["c_library"] == "glibc 2.36"
    assert libraries_of(features="#define _FEATURES_H\n")["c_library"] == "not glibc"
    assert libraries_of(config="# define __GLIBCXX__ 20220421\n")["cxx_library"] == "unknown __GLIBCXX__ 20220421"
    assert libraries_of(other="#define __GLIBC__ 9\n#define __GLIBC_MINOR__ 9\n")["c_library"] == "not glibc"


def test_headers_of_other_packages_are_none_of_its_own(tmp_path: Path) -> None:
    own = ("stdio.h", "linux/types.h", "x86_64-linux-gnu/bits/types.h", "x86_64-linux-gnu/c++/12/bits/config.h")
    write_tree(
        tmp_path,
        dict.fromkeys(
            (*own, "yaml.h", "ndbm.h", "openssl/ssl.h", "x86_64-linux-gnu/openssl/conf.h", "pkg/stdio.h"), ""
        ),
    )
    found = [os.path.relpath(path, tmp_path) for path in library_headers(str(tmp_path))]
    assert found == ["linux", "stdio.h", "x86_64-linux-gnu/bits", "x86_64-linux-gnu/c++"]
    assert not list(library_headers(str(tmp_path / "missing")))


def test_its_own_headers_and_nothing_else_outside_a_tree_may_be_read() -> None:
    assert toolchain().owns("/usr/include/stdio.h")
    assert toolchain().owns(f"{toolchain().resource_dir}/include/stddef.h")
    assert not toolchain().owns("/usr/include/../../etc/passwd")
    assert not toolchain().owns("/etc/passwd")


def test_a_toolchain_without_headers_is_rejected_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="apt-get install"):
        self_test(toolchain().library, str(tmp_path))


def test_compiler_variables_are_removed_while_parsing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "/etc")
    before = Path.cwd()
    with working_directory(tmp_path):
        assert Path.cwd() == tmp_path.resolve()
        assert not any(name in os.environ for name in ENVIRONMENT)
    assert Path.cwd() == before
    assert os.environ["CPLUS_INCLUDE_PATH"] == "/etc"
