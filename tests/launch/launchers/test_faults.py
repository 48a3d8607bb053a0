"""A few cells of the table of faults; `python -m tests.launch.launchers.faults` runs all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.launchers.faults import Outcome, attempt


@pytest.mark.parametrize(
    ("launcher", "fault", "commands"),
    [
        ("local", "kill of the launcher", 2),
        pytest.param("slurm", "lost API", 2, marks=pytest.mark.campaign),
        pytest.param("kubernetes", "kill of the launcher", 2, marks=pytest.mark.campaign),
    ],
)
def test_a_fault_leaves_nothing_and_costs_no_step_that_was_saved(
    tmp_path: Path, launcher: str, fault: str, commands: int
) -> None:
    assert attempt(launcher, fault, tmp_path) == Outcome(left=[], lost=0, commands=commands)
