"""The image that jobs run in, read as Docker would read it; and the script that a machine starts with."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
INSTRUCTIONS = re.sub(r"\\\n", " ", (HERE / "Dockerfile").read_text()).splitlines()


def words_of(instruction: str) -> list[list[str]]:
    return [line.split()[1:] for line in INSTRUCTIONS if line.startswith(f"{instruction} ")]


def test_it_holds_all_that_the_wheel_is_made_of_and_nothing_of_the_data() -> None:
    copied = [source for *sources, _ in words_of("COPY") for source in sources]
    ignored = (HERE / ".dockerignore").read_text().splitlines()
    assert all((HERE / source).exists() and f"!{source}" in ignored for source in copied)
    assert ignored[0] == "*" and {"CMakeLists.txt", "native", "dbt_quality", "megacpp_assets"} <= set(copied)


def test_it_is_nobody_s_and_listens_nowhere() -> None:
    assert words_of("USER")[-1] == ["10001:10001"] and not words_of("EXPOSE") and not words_of("ENTRYPOINT")
    assert not [line for line in INSTRUCTIONS if re.search(r"(?i)token|password|secret=", line.partition("#")[0])]


def test_its_command_is_the_one_that_launchers_give() -> None:
    command = [sys.executable, *re.findall(r'"([^"]+)"', " ".join(words_of("CMD")[0]))[1:]]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "--attempt" in said and "--folder" in said


def test_the_extra_for_tpus_is_installed_by_a_build_argument_and_pinned() -> None:
    assert ["EXTRAS='[train,gcs]'"] in words_of("ARG")
    assert any("--constraint /source/constraints.txt" in line and "${EXTRAS}" in line for line in INSTRUCTIONS)
    extra = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["optional-dependencies"]["tpu"]
    assert extra == (HERE / "tests/training/tpu/requirements.txt").read_text().splitlines()[1:]
    pinned = {line.partition("==")[0] for line in (HERE / "constraints.txt").read_text().splitlines()}
    assert {"jax", "jaxlib", "libtpu"} <= pinned


@pytest.mark.parametrize("settings", ["", "IMAGE=x\nCOMMAND='a b'\n"])
def test_the_startup_script_is_one_that_bash_can_read(settings: str) -> None:
    script = (HERE / "megacpp_assets/launch/providers/startup.sh").read_text()
    assert script.count("# SETTINGS\n") == 1
    text = script.replace("# SETTINGS\n", settings)
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
