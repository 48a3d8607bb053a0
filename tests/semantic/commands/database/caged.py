"""A small project of cmake, and the mark of tests that need the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.database.configure import ConfigureLimits, require_sandbox


def _lacking() -> str:
    try:
        require_sandbox()
    except EnvironmentLacks as error:
        return str(error)
    return ""


caged = pytest.mark.skipif(bool(_lacking()), reason=_lacking() or "everything is there")
GOOD = """
cmake_minimum_required(VERSION 3.10)
project(good CXX)
option(GOOD_BUILD_TESTS "Tests" OFF)
add_library(good src/good.cc)
target_include_directories(good PUBLIC include)
target_compile_definitions(good PRIVATE GOOD_PART=7)
if(GOOD_BUILD_TESTS)
  add_executable(good_test test/good_test.cc)
  target_link_libraries(good_test good)
endif()
"""
QUICK = ConfigureLimits(wall_s=20, cpu_s=5, disk_bytes=32 << 20)


def tree_of(folder: Path, text: str) -> Path:
    for path in ("src/good.cc", "test/good_test.cc", "include/good.h"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("int good;\n")
    (folder / "CMakeLists.txt").write_text(text)
    return folder
