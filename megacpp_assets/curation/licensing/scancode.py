"""Turns licence heads into SPDX expressions with ScanCode, in a separate process. Each distinct head is classified
once.

ScanCode needs six seconds and half a gigabyte to load its index, and its plug-ins need an old pluggy. So nothing of it
is imported here, and it may live in its own environment. Answers are cached in the data root, by head and release.
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
from megacpp_assets.curation.licensing.scancode_process import LEAST_COVERAGE
from megacpp_assets.repos.licensing.spdx import is_spdx_expression
from megacpp_assets.storage.caching.cache import Cache

PYTHON_VARIABLE = "MEGACPP_SCANCODE_PYTHON"
"""The interpreter of the environment with ScanCode, if it is another one."""
_PROGRAM = str(Path(__file__).with_name("scancode_process.py"))
_ISOLATED = "-I"
"""Without this option the program's folder comes before all packages, and this module would hide ScanCode."""
_EXCEPTION = re.compile(r" AND (\S*exception\S*)")
"""ScanCode joins some exceptions as if they were licences: `MIT AND fmt-exception`."""
_SECONDS_TO_LOAD = 300
_SECONDS_A_HEAD = 60
_INSTALL = (
    f"install scancode-toolkit==32.5.0 and pluggy==1.5.0 into an environment of their own and name its interpreter in "
    f'{PYTHON_VARIABLE}, or set curation.license_detector = "none"'
)


def detector_identity(detector: str) -> str:
    """Return name, release and limit of the detector for the manifest; "" for none. `EnvironmentLacks` if it is not
    installed.
    """
    return "" if detector == NO_DETECTOR else f"scancode {_release(_interpreter())}, texts from {LEAST_COVERAGE} %"


def _interpreter() -> str:
    return os.environ.get(PYTHON_VARIABLE) or sys.executable


@once
def _release(python: str) -> str:
    """Return the release of ScanCode in the environment of the interpreter `python`."""
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
    """Return key -> SPDX expression of each head in `heads` (key -> text); "" if ScanCode finds no valid one.

    Raises `EnvironmentLacks` if ScanCode fails or takes longer than a minute per head.
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
    """Return `expression` with exceptions as SPDX writes them; "" if it is not an expression."""
    written = _EXCEPTION.sub(r" WITH \1", expression)
    return written if written and is_spdx_expression(written) else ""


def _ask(texts: list[str]) -> list[str]:
    """Return ScanCode's answer for each text, in order."""
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
