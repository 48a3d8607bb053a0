"""What `make run` and `make test` do about system packages: install, or say what to run; nothing where all is there.

`apt-get` and `id` are scripts of the test, so that no test changes the machine. What they were asked is what is tested.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "system_packages.sh"
LINE = "sudo apt-get install -y"


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder that is all of PATH, and a checkout with the script and no environment yet."""

    programs: Path
    script: Path

    def program(self, name: str, text: str = "") -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def without(self, name: str) -> None:
        (self.programs / name).unlink()

    def python(self, name: str, version: str) -> None:
        """A Python of Debian or Ubuntu: it knows its version, and comes without ensurepip and without Python.h."""
        self.program(name, f'case "$2" in *%d*) echo {version} ;; *exit*) exit 0 ;; *) exit 1 ;; esac')

    def look(self, caller: str = "run", python: str = "") -> subprocess.CompletedProcess[str]:
        command = ["/bin/sh", str(self.script), caller]
        places = {name: str(self.programs) for name in ("PATH", "VULKAN_DRIVERS", "POSTGRES_SERVERS")}
        environment = places | ({"PYTHON": python} if python else {})
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def asked(self) -> list[str]:
        """The calls of apt-get so far."""
        log = self.programs / "asked"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Root on Debian, with everything; its apt-get gives whatever it is asked for."""
    programs, script = tmp_path / "bin", tmp_path / "checkout" / "tools" / "system_packages.sh"
    programs.mkdir()
    script.parent.mkdir(parents=True)
    for name in ("system_packages.sh", "newest_python.sh"):
        shutil.copy(SCRIPT.with_name(name), script.parent)
    made = Machine(programs, script)
    (programs / "python3.11").symlink_to(sys.executable)
    for name in ("dirname", "chmod", "cat"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    (programs / "15" / "bin").mkdir(parents=True)
    for name in ("g++", "git", "bwrap", "chromium", "lvp_icd.x86_64.json", "15/bin/initdb"):
        made.program(name)
    made.program("id", "echo 0")
    made.program(
        "apt-get",
        f'echo "$@" >>{programs}/asked\n'
        f'case "$*" in *bubblewrap*) cat /dev/null >{programs}/bwrap; chmod +x {programs}/bwrap;; esac',
    )
    return made


def stop_apt(machine: Machine) -> None:
    machine.program("apt-get", f'echo "$@" >>{machine.programs}/asked; exit 100')


@pytest.mark.parametrize("caller", ["run", "test"])
def test_where_all_is_there_nothing_is_said_and_apt_is_not_called(machine: Machine, caller: str) -> None:
    done = machine.look(caller)
    assert (done.returncode, done.stdout + done.stderr, machine.asked()) == (0, "", [])


@pytest.mark.parametrize("caller", ["run", "test"])
def test_root_on_debian_gets_what_is_missing_and_nothing_else_once(machine: Machine, caller: str) -> None:
    machine.without("bwrap")
    done = machine.look(caller)
    assert (done.returncode, done.stderr) == (0, "Installing system packages: bubblewrap\n")
    update, install = machine.asked()
    assert update.startswith("update") and install.startswith("install") and install.split()[-1] == "bubblewrap"
    again = machine.look(caller)
    assert (again.returncode, again.stderr, len(machine.asked())) == (0, "", 2)


@pytest.mark.parametrize("who", ["another user", "no Debian", "apt-get fails"])
def test_otherwise_what_only_a_part_needs_is_named_with_the_line_to_run_and_the_command_continues(
    machine: Machine, who: str
) -> None:
    machine.without("bwrap")
    if who == "another user":
        machine.program("id", "echo 1000")
    elif who == "no Debian":
        machine.without("apt-get")
    else:
        stop_apt(machine)
    done = machine.look()
    assert done.returncode == 0
    assert "bubblewrap: without it `megacpp run --configure` is refused" in done.stderr
    assert done.stderr.endswith(f"{LINE} bubblewrap\n")
    assert bool(machine.asked()) == (who == "apt-get fails")


@pytest.mark.parametrize(("name", "package"), [("git", "git"), ("g++", "g++"), ("python3.11", "python3")])
def test_what_everything_needs_stops_the_command(machine: Machine, name: str, package: str) -> None:
    machine.program("id", "echo 1000")
    machine.without(name)
    done = machine.look()
    assert done.returncode == 1
    assert f"{LINE} {package}" in done.stderr


@pytest.mark.parametrize(
    ("installed", "asked_for", "packages"),
    [
        ({"python3": "3.11", "python3.11": "3.11"}, "python3.11", "python3-venv python3-dev"),  # Debian 12
        ({"python3": "3.12"}, "", "python3-venv python3-dev"),  # Ubuntu 24.04
        ({"python3": "3.13", "python3.13": "3.13"}, "", "python3-venv python3-dev"),  # Debian 13
        ({"python3": "3.11", "python3.13": "3.13"}, "", "python3.13-venv python3.13-dev"),
        ({"python3": "3.11"}, "python3.12", "python3.12 python3.12-venv python3.12-dev"),
    ],
)
def test_a_python_without_its_parts_stops_the_command_and_the_distributions_packages_are_named(
    machine: Machine, installed: dict[str, str], asked_for: str, packages: str
) -> None:
    machine.program("id", "echo 1000")
    machine.without("python3.11")
    for name, version in installed.items():
        machine.python(name, version)
    done = machine.look(python=asked_for)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{LINE} {packages}\n")


def test_a_python_that_is_too_old_is_named_with_the_versions_that_work(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    machine.without("python3.11")
    machine.program("python3", 'case "$2" in *%d*) echo 3.10 ;; *) exit 1 ;; esac')
    done = machine.look()
    assert done.returncode == 1
    assert "Python 3.11, 3.12 or 3.13 is needed" in done.stderr
    assert done.stderr.endswith(f"{LINE} python3.11 python3.11-venv python3.11-dev\n")


def test_a_finished_environment_needs_no_packages_for_python(machine: Machine) -> None:
    machine.without("python3.11")
    (machine.script.parents[1] / ".venv").mkdir()
    (machine.script.parents[1] / ".venv" / ".installed").touch()
    assert machine.look().returncode == 0


def test_the_newest_supported_python_that_starts_is_chosen(machine: Machine) -> None:
    machine.program("python3.13", "exit 127")  # pyenv's, where 3.13 is not selected
    machine.python("python3.12", "3.12")
    command = ["/bin/sh", str(machine.script.with_name("newest_python.sh"))]
    found = subprocess.run(command, env={"PATH": str(machine.programs)}, capture_output=True, text=True, check=True)
    assert found.stdout == "python3.12\n"


def test_what_only_tests_need_is_no_matter_of_a_run(machine: Machine) -> None:
    text = machine.script.read_text()
    assert "package part bubblewrap" in text
    machine.script.write_text(text.replace("package part bubblewrap", "package test bubblewrap"))
    machine.without("bwrap")
    assert (machine.look("run").stderr, machine.asked()) == ("", [])
    assert "Installing system packages: bubblewrap" in machine.look("test").stderr


def test_the_tests_alone_need_a_vulkan_driver(machine: Machine) -> None:
    machine.without("lvp_icd.x86_64.json")
    assert (machine.look("run").stderr, machine.asked()) == ("", [])
    assert (
        "mesa-vulkan-drivers: without it the tests of the tokenizer's GPU kernels are skipped"
        in machine.look("test").stderr
    )


def test_the_tests_alone_need_a_postgres_server(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    machine.without("15/bin/initdb")
    assert (machine.look("run").stderr, machine.asked()) == ("", [])
    assert "postgresql: without it the tests of Dagster on a Postgres server fail" in machine.look("test").stderr


def test_the_tests_alone_need_a_browser(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    machine.without("chromium")
    assert (machine.look("run").stderr, machine.asked()) == ("", [])
    assert "chromium: without it the tests of the UI in a browser are skipped" in machine.look("test").stderr
