"""Licence heads to SPDX expressions by ScanCode, in a process of its own; each distinct head is classified once.

ScanCode takes six seconds and half a gigabyte to load its index, and its plug-ins want an old pluggy: nothing of it is
imported here, and it may live in an environment of its own. Answers are kept in the data root's cache, by head and
release.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache as once
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.contract.recipe.curation import NO_DETECTOR
from megacpp_assets.repos.licensing.spdx import is_spdx_expression
from megacpp_assets.storage.caching.cache import Cache

PYTHON_VARIABLE = "MEGACPP_SCANCODE_PYTHON"
"""The interpreter of the environment that holds ScanCode, where that is not this one."""
_PROGRAM = str(Path(__file__).with_name("scancode_process.py"))
_ISOLATED = "-I"
"""Without this, the folder of the program stands before all packages, and this module before ScanCode."""
_EXCEPTION = re.compile(r" AND (\S*exception\S*)")
"""ScanCode joins some exceptions as if they were licences: `MIT AND fmt-exception`."""
_SECONDS_TO_LOAD = 300
_SECONDS_A_HEAD = 60
_INSTALL = (
    f"install scancode-toolkit==32.5.0 and pluggy==1.5.0 into an environment of their own and name its interpreter in "
    f'{PYTHON_VARIABLE}, or set curation.license_detector = "none"'
)


def detector_identity(detector: str) -> str:
    """Name and release of the detector, for the manifest; "" for none. `EnvironmentLacks` if it is not installed."""
    return "" if detector == NO_DETECTOR else f"scancode {_release(_interpreter())}"


def _interpreter() -> str:
    return os.environ.get(PYTHON_VARIABLE) or sys.executable


@once
def _release(python: str) -> str:
    """The release of ScanCode in the environment of the interpreter `python`."""
    try:
        done = subprocess.run(
            [python, _ISOLATED, _PROGRAM, "--release"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        where = f"{PYTHON_VARIABLE}={python}"
        raise EnvironmentLacks(where, expected="a Python interpreter", found=str(error), do=_INSTALL) from error
    if done.returncode:
        what = "curation.license_detector"
        raise EnvironmentLacks(what, expected="scancode-toolkit", found=f"none for {python}", do=_INSTALL)
    return done.stdout.strip()


def classify(heads: Mapping[str, str], identity: str, cache: Cache) -> dict[str, str]:
    """Key -> SPDX expression of each head in `heads` (key -> text); "" where ScanCode knows none that is valid.

    Raises `EnvironmentLacks` if ScanCode fails or takes longer than a minute a head.
    """
    names = {key: sha256_bytes(f"{identity}\0{text}".encode()) for key, text in heads.items()}
    known = {key: kept.decode() for key, name in names.items() if (kept := cache.get(name)) is not None}
    unknown = {key: heads[key] for key in sorted(heads.keys() - known.keys())}
    if unknown:
        answers = dict(zip(unknown, _ask(list(unknown.values())), strict=True))
        for key, answer in answers.items():
            cache.put(names[key], answer.encode())
        known |= answers
    return {key: _valid(expression) for key, expression in known.items()}


def _valid(expression: str) -> str:
    """`expression` with its exceptions as SPDX writes them, or "" where it is no expression."""
    written = _EXCEPTION.sub(r" WITH \1", expression)
    return written if written and is_spdx_expression(written) else ""


def _ask(texts: list[str]) -> list[str]:
    """What ScanCode says of each text, in order."""
    command = [_interpreter(), _ISOLATED, _PROGRAM]
    limit = _SECONDS_TO_LOAD + _SECONDS_A_HEAD * len(texts)
    questions = "".join(f"{json.dumps(text)}\n" for text in texts)
    try:
        done = subprocess.run(command, input=questions, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentLacks("ScanCode", expected=f"an answer within {limit} s", found="none") from error
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or len(answers) != len(texts):
        found = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        do = "check the installation: scancode --version"
        raise EnvironmentLacks("ScanCode", expected=f"{len(texts)} answers", found=found[0], do=do)
    return answers
