from __future__ import annotations

import os
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.toolchain import ENVIRONMENT, self_test, working_directory
from tests.semantic.parsing_trees import toolchain


def test_the_identity_holds_versions_and_no_path() -> None:
    identity = toolchain().identity
    assert identity["libclang"].startswith("clang version 18.")
    assert identity["cxx_library"].startswith("c++/")
    assert not any(str(Path.cwd()) in value or "/usr" in value for value in identity.values())


def test_its_own_headers_and_nothing_else_outside_a_tree_may_be_read() -> None:
    assert toolchain().owns("/usr/include/stdio.h")
    assert toolchain().owns(f"{toolchain().resource_dir}/include/stddef.h")
    assert not toolchain().owns("/usr/include/../../etc/passwd")
    assert not toolchain().owns("/etc/passwd")


def test_a_toolchain_without_headers_is_refused_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="apt-get install"):
        self_test(toolchain().library, str(tmp_path))


def test_variables_that_steer_compilers_are_away_while_parsing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "/etc")
    before = Path.cwd()
    with working_directory(tmp_path):
        assert Path.cwd() == tmp_path.resolve()
        assert not any(name in os.environ for name in ENVIRONMENT)
    assert Path.cwd() == before
    assert os.environ["CPLUS_INCLUDE_PATH"] == "/etc"
