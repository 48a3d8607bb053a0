"""A run that finds the slots of a resource taken by another one says so, and goes on when they are free."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from megacpp_assets.storage.root.slots import SlotLocks
from tests.pipeline.roots import command, environment


@pytest.mark.parametrize(("counted_here", "waits"), [(1, True), pytest.param(2, False, marks=pytest.mark.campaign)])
def test_a_step_waits_where_another_run_has_every_slot_that_its_recipe_counts(
    tmp_path: Path, counted_here: int, waits: bool
) -> None:
    other = SlotLocks(tmp_path, {"network": 1})
    assert other.take("network", "pinned_repos fmt@11.0.0")
    one_step = ("run", "--recipe", "smoke", "--until", "pinned_repos", "--set", f"concurrency.network={counted_here}")
    with subprocess.Popen(
        command(*one_step), env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        first = run.stdout.readline()
        holder = f"1 in all, held by process {os.getpid()} on {os.uname().nodename} for pinned_repos fmt@11.0.0"
        assert (f"waits for a slot of network, {holder}" in first) is waits
        other.release("pinned_repos fmt@11.0.0")
        said = run.stdout.read()
    assert run.returncode == 0
    assert "pinned_repos" in said
