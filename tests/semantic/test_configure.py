"""A tree's cmake runs in a cage: what it tries against the machine comes to nothing, and it ends in time."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic import configure as module
from megacpp_assets.semantic.compile_database import DATABASE, read_database
from megacpp_assets.semantic.configure import ConfigureLimits, configure, require_sandbox
from megacpp_assets.semantic.stage import run, target
from tests.semantic.hostile_repository import spec_of


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


def _tree(folder: Path, text: str) -> Path:
    for path in ("src/good.cc", "test/good_test.cc", "include/good.h"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("int good;\n")
    (folder / "CMakeLists.txt").write_text(text)
    return folder


def _said(folder: Path, body: str, limits: ConfigureLimits = QUICK) -> str:
    """What a configure of `body` ends with: its error, which the tree can choose."""
    return configure(_tree(folder, f"cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n{body}"), limits).reason


@caged
def test_a_good_tree_gives_a_database_of_its_own_files_tests_included(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "tree", GOOD)
    found = configure(tree)
    assert found.reason == ""
    (tree / DATABASE).write_bytes(found.database)
    entries = read_database(tree, DATABASE)
    assert set(entries) == {"src/good.cc", "test/good_test.cc"}
    assert {"-Iinclude", "-DGOOD_PART=7"} <= set(entries["src/good.cc"])
    assert "/source/src/good.cc" in {entry["file"] for entry in json.loads(found.database)}


@caged
def test_two_configures_give_the_same_bytes(tmp_path: Path) -> None:
    assert configure(_tree(tmp_path / "a", GOOD)) == configure(_tree(tmp_path / "another" / "b", GOOD))


@caged
def test_a_file_of_the_host_and_the_environment_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_WORD", "canary_5127")
    canary = tmp_path / "canary.txt"
    canary.write_text("canary_5127")
    for body in (
        f'file(READ "{canary}" word)\nmessage(FATAL_ERROR "${{word}}")',
        f'execute_process(COMMAND cat {canary} /etc/passwd OUTPUT_VARIABLE w)\nmessage(FATAL_ERROR "<${{w}}>")',
        'message(FATAL_ERROR "<$ENV{SECRET_WORD}>")',
        'execute_process(COMMAND sh -c "cat /proc/[0-9]*/environ" OUTPUT_VARIABLE w)\nmessage(FATAL_ERROR "${w}")',
    ):
        said = _said(tmp_path / "tree", body)
        assert said.startswith("cmake ended with status")
        assert "canary_5127" not in said and "root:" not in said


@caged
def test_no_socket_of_the_host_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        body = (
            f'file(DOWNLOAD http://127.0.0.1:{port}/ /build/page STATUS status TIMEOUT 3)\nmessage(FATAL_ERROR "no")\n'
        )
        assert _said(tmp_path, body).startswith("cmake ended with status")
        with pytest.raises(TimeoutError):
            server.accept()


@caged
def test_nothing_can_be_written_but_to_memory(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "tree", GOOD)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    paths = f"/source/evil {tree}/evil {tmp_path}/evil /usr/evil /evil /etc/evil /dev/shm/evil"
    body = f'execute_process(COMMAND sh -c "for p in {paths}; do echo x > $p; done; chmod 777 /source")\n'
    configure(_tree(tree, GOOD + body))
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "CMakeLists.txt"}
    assert set(after) == set(before) - {tree / "CMakeLists.txt"}
    assert not any(os.path.exists(path) for path in ("/usr/evil", "/evil", "/etc/evil", "/dev/shm/evil"))


@caged
def test_a_configure_that_sleeps_is_ended_with_all_its_children(tmp_path: Path) -> None:
    began = time.monotonic()
    mark = f"9{os.getpid()}"
    body = f'execute_process(COMMAND sh -c "setsid sleep {mark} & sleep {mark}")'
    said = _said(tmp_path, body, ConfigureLimits(wall_s=2))
    assert said == "cmake did not end in 2 s"
    assert time.monotonic() - began < 15
    while _running(f"sleep\0{mark}"):  # the kernel ends the namespace a moment after its parent
        assert time.monotonic() - began < 20
        time.sleep(0.05)


def _running(command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command in path.read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False


@caged
def test_a_configure_that_spins_is_ended_by_its_processor_time(tmp_path: Path) -> None:
    said = _said(tmp_path, "while(TRUE)\nendwhile()", ConfigureLimits(wall_s=60, cpu_s=1))
    assert said.startswith("cmake ended with status")


@caged
def test_a_configure_that_fills_the_disk_fills_its_own(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    body = 'execute_process(COMMAND sh -c "cat /dev/zero > /build/a; cat /dev/zero > /tmp/b; df -k /build | tail -1" '
    body += 'OUTPUT_VARIABLE word)\nmessage(FATAL_ERROR "full")'
    assert _said(tmp_path, body).startswith("cmake ended with status")
    assert shutil.disk_usage(tmp_path).free > free - (1 << 30)


@caged
def test_a_database_without_end_is_cut_and_reads_as_none(tmp_path: Path) -> None:
    body = 'file(WRITE /build/out/compile_commands.json "[")\n'
    body += 'execute_process(COMMAND sh -c "while cat /dev/zero; do :; done > /proc/1/fd/1 2>&1")'
    limits = ConfigureLimits(wall_s=20, cpu_s=3, output_bytes=1 << 20)
    tree = _tree(tmp_path, f"cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n{body}")
    found = configure(tree, limits)
    assert len(found.database) <= 1 << 20


@caged
def test_memory_is_limited(tmp_path: Path) -> None:
    body = 'string(REPEAT "x" 400000000 a)\nstring(REPEAT "${a}" 8 b)\nmessage(FATAL_ERROR "had it")'
    said = _said(tmp_path, body, ConfigureLimits(wall_s=60, memory_bytes=1 << 30))
    assert "status" in said and "had it" not in said


@caged
def test_a_tree_without_cmake_says_so(tmp_path: Path) -> None:
    assert configure(tmp_path).reason == "no CMakeLists.txt at the root"


@pytest.mark.parametrize("name", ["bwrap", "cmake"])
def test_a_machine_without_the_tools_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda wanted: None if wanted == name else f"/usr/bin/{wanted}")
    with pytest.raises(EnvironmentLacks, match=f"needs {name}.*apt-get install bubblewrap cmake"):
        configure(tmp_path)


@caged
@pytest.mark.parametrize(
    ("text", "said", "mode"),
    [(GOOD, "database", "database"), ("message(FATAL_ERROR no)\n", "cmake ended with status 1: CMake", "inferred")],
)  # fmt: skip
def test_the_stage_says_whether_its_arguments_are_the_trees_or_inferred(
    tmp_path: Path, text: str, said: str, mode: str
) -> None:
    """A configure that fails is no silent fallback: the reason stands in the statistics, and a check warns of it."""
    files = {"CMakeLists.txt": text.encode(), "src/good.cc": b'#include "good.h"\nint part() { return GOOD_PART; }\n',
             "test/good_test.cc": b"#include <good.h>\nint main() { return part(); }\n",
             "include/good.h": b"#pragma once\nint part();\n"}  # fmt: skip
    spec = spec_of(tmp_path, "configured", files)
    asked = replace(spec, recipe=replace(spec.recipe, configure=True))
    artifact = run(asked)
    assert artifact.manifest.config["cmake"].startswith("cmake version")
    assert str(artifact.manifest.stats["configure"]).startswith(said)
    modes = {row["filepath"]: row["mode"] for row in pq.read_table(artifact.file("files.parquet")).to_pylist()}
    assert modes["src/good.cc"] == modes["test/good_test.cc"] == mode
    errors = {row["filepath"]: row["errors"] for row in pq.read_table(artifact.file("files.parquet")).to_pylist()}
    assert errors["src/good.cc"] == (0 if mode == "database" else 1)
    assert target(asked).fingerprint(()) != target(spec).fingerprint(())
