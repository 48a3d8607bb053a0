"""A tree's cmake runs in a cage: what it tries against the machine comes to nothing, and it ends in time."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.commands.database.compile_database import read_database
from megacpp_assets.semantic.commands.database.configure import (
    ConfigureLimits,
    cmake_program,
    configure,
)
from megacpp_assets.semantic.stage import run, target
from megacpp_assets.semantic.tree.build_files import DATABASE
from tests.semantic.commands.database.caged import GOOD, QUICK, caged, tree_of
from tests.semantic.hostile_repository import everything, spec_of


def _said(folder: Path, body: str, limits: ConfigureLimits = QUICK) -> str:
    """What a configure of `body` ends with: its error, which the tree can choose."""
    return configure(tree_of(folder, f"cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n{body}"), limits).reason


def _output(folder: Path, script: str, limits: ConfigureLimits = QUICK) -> str:
    """What a shell `script` of a tree brings out of the cage: its words are in the first error of the log."""
    tree = tree_of(folder, "cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n")
    (tree / "script.sh").write_text(script)
    with (tree / "CMakeLists.txt").open("a") as text:
        text.write("execute_process(COMMAND sh /source/script.sh OUTPUT_VARIABLE words ERROR_VARIABLE words)\n")
        text.write('string(REGEX REPLACE "[\n;]+" " " words "${words}")\nfile(WRITE /build/words "${words}")\n')
        text.write('execute_process(COMMAND sh -c "echo CMake Error told: $(cat /build/words) >> /build/log")\n')
        text.write('message(FATAL_ERROR "after what was told")\n')
    head, _, output = configure(tree, limits).reason.partition(": CMake Error told: ")
    assert head == "cmake ended with status 1"
    return output.partition(" CMake Error at ")[0]


@caged
def test_a_good_tree_gives_a_database_of_its_own_files_tests_included(tmp_path: Path) -> None:
    tree = tree_of(tmp_path / "tree", GOOD)
    found = configure(tree)
    assert found.reason == ""
    (tree / DATABASE).write_bytes(found.database)
    entries = read_database(tree, DATABASE).entries
    assert set(entries) == {"src/good.cc", "test/good_test.cc"}
    assert {"-Iinclude", "-DGOOD_PART=7"} <= set(entries["src/good.cc"])
    assert "/source/src/good.cc" in {entry["file"] for entry in json.loads(found.database)}


@caged
def test_two_configures_give_the_same_bytes(tmp_path: Path) -> None:
    assert configure(tree_of(tmp_path / "a", GOOD)) == configure(tree_of(tmp_path / "another" / "b", GOOD))


@caged
def test_the_project_may_be_in_a_folder_and_its_options_may_be_stated(tmp_path: Path) -> None:
    tree_of(tmp_path / "tree" / "part", GOOD)
    arguments = ("-S", "part", "-DGOOD_BUILD_TESTS=OFF", "-DCMAKE_CXX_FLAGS=-DFIRST=1 -DSECOND=2")
    found = configure(tmp_path / "tree", arguments=arguments)
    assert found.reason == ""
    (tmp_path / "tree" / DATABASE).write_bytes(found.database)
    entries = read_database(tmp_path / "tree", DATABASE).entries
    assert set(entries) == {"part/src/good.cc"}
    assert {"-Ipart/include", "-DFIRST=1", "-DSECOND=2"} <= set(entries["part/src/good.cc"])


@caged
def test_a_failed_configure_tells_the_first_error_and_its_reason(tmp_path: Path) -> None:
    reason = _said(tmp_path, "add_subdirectory(gone)\n")
    assert "CMake Error at CMakeLists.txt:3 (add_subdirectory): add_subdirectory given source" in reason
    assert '"gone" which is not an existing directory' in reason


@caged
def test_a_tree_whose_tests_do_not_configure_is_configured_without_them(tmp_path: Path) -> None:
    body = GOOD.replace('"Tests" OFF', '"Tests" ON').replace(
        "  add_executable", "  add_subdirectory(gone)\n  add_executable"
    )
    tree = tree_of(tmp_path / "tree", body)
    found = configure(tree)
    assert found.reason == ""
    (tree / DATABASE).write_bytes(found.database)
    assert set(read_database(tree, DATABASE).entries) == {"src/good.cc"}


@caged
def test_the_stage_configures_with_the_arguments_of_the_recipe(tmp_path: Path) -> None:
    files = {f"part/{path}": b"int good;\n" for path in ("src/good.cc", "test/good_test.cc", "include/good.h")}
    spec = spec_of(tmp_path, "parted", files | {"part/CMakeLists.txt": GOOD.encode()})
    asked = replace(spec, recipe=replace(spec.recipe, configure=True))
    assert str(run(asked).manifest.stats["configure"]).startswith("no CMakeLists.txt at the root")
    stated = replace(asked, cmake_arguments=("-S", "part"))
    assert target(stated).config != target(asked).config
    assert run(stated).manifest.stats["configure"] == "database"


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the host, readable for all; its word is also a secret of our environment."""
    monkeypatch.setenv("SECRET_WORD", "canary_5127")
    path = tmp_path / "canary.txt"
    path.write_text("canary_5127\n")
    return path


@caged
@pytest.mark.parametrize(
    "script",
    ["tr '\\0' '\\n' < /proc/1/environ | grep canary", "env | grep canary",
     "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep canary",
     "cat CANARY", "cat /source/link.txt", "cat /proc/1/root/CANARY /proc/1/cwd/CANARY",
     "cat /etc/passwd", "cat /etc/hostname; hostname"],
)  # fmt: skip
def test_a_file_of_the_host_and_the_environment_cannot_be_read(tmp_path: Path, canary: Path, script: str) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link.txt").symlink_to(canary)
    script = f"echo heard; {script.replace('CANARY', str(canary))} | cut -c1-100"
    output = _output(tmp_path / "tree", script)
    assert output.startswith("heard")  # or nothing at all would be brought out by this way
    assert "canary_5127" not in output and "root:" not in output and "SECRET_WORD" not in output
    assert socket.gethostname() not in output.split()


@caged
def test_a_database_holds_nothing_of_the_host(tmp_path: Path, canary: Path) -> None:
    body = GOOD
    for number, path in enumerate((canary, "/proc/1/environ", "/proc/self/environ", "/source/include/good.h")):
        body += f'if(EXISTS "{path}")\n  file(READ "{path}" word HEX)\n'
        body += f'  target_compile_definitions(good PRIVATE "WORD{number}=x${{word}}")\nendif()\n'
    found = configure(tree_of(tmp_path / "tree", body))
    assert found.reason == "" and b"int good;\n".hex().encode() in found.database
    assert b"canary_5127".hex().encode() not in found.database
    assert b"WORD0" not in found.database


@caged
def test_the_stage_leaves_nothing_of_the_host(tmp_path: Path, canary: Path) -> None:
    script = f"echo CMake Error heard $(cat {canary} /proc/1/environ | grep -ao 'canary_[0-9]*') >> /build/log; exit 1"
    text = GOOD + "execute_process(COMMAND sh /source/script.sh)\nmessage(FATAL_ERROR end)\n"
    files = {"CMakeLists.txt": text.encode(), "script.sh": script.encode(), "src/good.cc": b"int good;\n"}
    spec = spec_of(tmp_path, "telling", files)
    artifact = run(replace(spec, recipe=replace(spec.recipe, configure=True)))
    assert "CMake Error heard" in str(artifact.manifest.stats["configure"])
    assert b"canary_5127" not in everything(artifact)


@caged
def test_cmake_outside_usr_brings_its_own_files_and_nothing_else_of_its_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, canary: Path
) -> None:
    """The prefix of an unpacked cmake may be somebody's home."""
    prefix = tmp_path / "home"
    (prefix / "bin").mkdir(parents=True)
    program = Path(cmake_program())
    shutil.copy(program, prefix / "bin" / "cmake")
    root = next(program.parents[1].glob("share/cmake-*"))
    shutil.copytree(root, prefix / "share" / root.name)
    shutil.copy(canary, prefix / "canary.txt")
    monkeypatch.setenv("PATH", f"{prefix}/bin", prepend=os.pathsep)
    output = _output(tmp_path / "tree", f"command -v cmake; cat {prefix}/canary.txt")
    assert output.startswith(f"{prefix}/bin/cmake ") and "canary_5127" not in output


@caged
def test_in_an_activated_environment_the_python_packages_cmake_is_the_program_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    assert cmake_program().endswith("/cmake/data/bin/cmake")
    assert _output(tmp_path / "told", "command -v cmake").strip() == cmake_program()
    assert configure(tree_of(tmp_path / "good", GOOD)).reason == ""


def test_a_script_that_is_no_program_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = cmake_program()
    for folder in ("script", "program"):
        (tmp_path / folder).mkdir()
    (tmp_path / "script" / "cmake").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "script" / "cmake").chmod(0o755)
    (tmp_path / "program" / "cmake").symlink_to(program)
    monkeypatch.setattr("megacpp_assets.semantic.commands.database.configure.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", f"{tmp_path / 'script'}{os.pathsep}{tmp_path / 'program'}")
    assert cmake_program() == program


@caged
def test_no_setting_of_the_kernel_can_be_written_and_no_cage_made_inside(tmp_path: Path) -> None:
    """Settings of the kernel belong to root, whose number a process keeps in the cage of a root."""
    output = _output(
        tmp_path, "for p in core_pattern hostname; do (: >> /proc/sys/kernel/$p) && echo opened; done 2>&1"
    )
    assert output.count("Read-only file system") == 2 and "opened" not in output
    assert "unshare failed" in _output(tmp_path, "unshare --user --mount true && echo made")


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
    tree = tree_of(tmp_path / "tree", GOOD)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    paths = f"/source/evil {tree}/evil {tmp_path}/evil /usr/evil /evil /etc/evil /dev/shm/evil"
    body = f'execute_process(COMMAND sh -c "for p in {paths}; do echo x > $p; done; chmod 777 /source")\n'
    configure(tree_of(tree, GOOD + body))
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
    assert time.monotonic() - began < 120
    while _running(f"sleep\0{mark}"):  # the kernel ends the namespace a moment after its parent
        assert time.monotonic() - began < 150
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
@pytest.mark.parametrize("place", ["/home", "/tmp", "/build"])
def test_a_configure_that_fills_a_disk_ends_with_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    tree = tree_of(tmp_path / "tree", f"{GOOD}execute_process(COMMAND sh /source/fill.sh COMMAND_ERROR_IS_FATAL ANY)\n")
    fill = f"set -e; for part in $(seq COUNT); do head -c 1M /dev/zero > {place}/$part; done"
    (tree / "fill.sh").write_text(fill.replace("COUNT", "8"))
    assert configure(tree, QUICK).reason == ""
    (tree / "fill.sh").write_text(fill.replace("COUNT", "40"))
    assert configure(tree, QUICK).reason.startswith("cmake ended with status")
    assert not list((tmp_path / "temporary").iterdir())


@caged
def test_nothing_is_writable_but_the_sized_disks(tmp_path: Path) -> None:
    output = set(_output(tmp_path, "awk '$4 ~ /^rw/ {print $2}' /proc/mounts").split())
    assert {place for place in output if not place.startswith("/dev/")} == {"/home", "/tmp", "/build"}
    sizes = _output(tmp_path, "df --output=size -B 1M /home /tmp /build").split()
    assert sizes == ["1M-blocks", "32", "32", "32"]
    tried = _output(tmp_path, "for p in /dev /dev/shm /dev/pts; do (: > $p/a) && echo wrote; done 2>&1; : > /dev/null")
    assert tried.count("cannot create") == 3 and "wrote" not in tried


@caged
def test_the_number_of_processes_is_limited(tmp_path: Path) -> None:
    limits = replace(QUICK, processes=77)
    output = _output(tmp_path, "grep processes /proc/self/limits", limits)
    assert output.split() == "Max processes 77 77 processes".split()
    if os.geteuid():  # the kernel exempts root
        output = _output(tmp_path, "for n in $(seq 99); do sleep 2 & done 2>&1", limits)
        assert "annot fork" in output


@caged
def test_a_database_without_end_is_cut_and_reads_as_none(tmp_path: Path) -> None:
    body = 'file(WRITE /build/megacpp_out/compile_commands.json "[")\n'
    body += 'execute_process(COMMAND sh -c "while cat /dev/zero; do :; done > /proc/1/fd/1 2>&1")'
    limits = ConfigureLimits(wall_s=20, cpu_s=3, output_bytes=1 << 20)
    tree = tree_of(tmp_path, f"cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n{body}")
    found = configure(tree, limits)
    assert len(found.database) <= 1 << 20


@caged
def test_memory_is_limited(tmp_path: Path) -> None:
    """One process asks for 300 MB: it has them under a limit of 1 GB, and not under one of 200 MB."""
    script = "dd if=/dev/zero of=/dev/null bs=300M count=1 status=none 2>&1; echo ended $?"
    assert _output(tmp_path, script, replace(QUICK, memory_bytes=1 << 30)) == "ended 0"
    output = _output(tmp_path, script, replace(QUICK, memory_bytes=200 << 20))
    assert "memory exhausted" in output and output.endswith("ended 1")


@caged
def test_a_tree_without_cmake_says_so(tmp_path: Path) -> None:
    reason = "no CMakeLists.txt at the root: state its folder in the recipe's [cmake_arguments]"
    assert configure(tmp_path).reason == reason
    assert configure(tmp_path, arguments=("-S", "sub")).reason == reason.replace("at the root", "in sub")


@pytest.mark.parametrize(
    ("name", "said"), [("bwrap", "needs bwrap"), ("cmake", "needs cmake"), ("make", "needs ninja or make")]
)
def test_missing_tools_are_reported_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    """Any programs do for those that are there: none of them is started."""
    for present in {"bwrap", "cmake", "make"} - {name}:
        (tmp_path / present).symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr("megacpp_assets.semantic.commands.database.configure.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match=f"{said}.*apt-get install bubblewrap cmake"):
        configure(tmp_path)


def test_a_machine_without_cmake_has_the_one_of_the_python_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cmake_program().endswith("/cmake/data/bin/cmake")


@caged
@pytest.mark.parametrize(
    ("text", "said", "mode"),
    [(GOOD, "database", "database"), ("message(FATAL_ERROR no)\n", "cmake ended with status 1: CMake", "inferred")],
)  # fmt: skip
def test_the_stage_says_whether_its_arguments_are_the_trees_or_inferred(
    tmp_path: Path, text: str, said: str, mode: str
) -> None:
    """A configure that fails is no silent fallback: the reason stands in the statistics, and a check warns of it."""
    files = {"CMakeLists.txt": text.encode(), "src/config.h.in": b"#cmakedefine01 USED\n",
             "src/good.cc": b'#include "good.h"\n#include "config.h"\nint part() { return GOOD_PART + USED; }\n',
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
