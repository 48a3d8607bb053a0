"""The nightly runs while the clock jumps: each night has one of each at most, and none is made up for in bulk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import (
    InProcessTestWorkspaceLoadTarget,
    create_test_daemon_workspace_context,
    freeze_time,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._scheduler.scheduler import launch_scheduled_runs

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.automate.automation import AUTOMATE_VARIABLE
from megacpp_assets.defs.home.instance import open_instance
from tests.pipeline.pins.pinned import pin_corpus

EVENING = datetime(2026, 11, 22, 20, 0, tzinfo=UTC)
TIPS_AT, BACKFILL_AT = timedelta(hours=7), timedelta(hours=8)
"""After that evening: the tips at three, the rest at four."""
SOON = timedelta(minutes=1)
Tick = Callable[[datetime], int]


@pytest.fixture
def tick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tick]:
    """A look of Dagster's scheduler at that time by the machine's clock; how many runs were started until then."""
    pin_corpus(tmp_path, load_recipe("smoke"), ["sample-kernel"])
    monkeypatch.setenv(AUTOMATE_VARIABLE, "1")
    with open_instance(tmp_path) as instance:
        origin = InProcessCodeLocationOrigin(
            LoadableTargetOrigin(executable_path=None, module_name="megacpp_assets.definitions"), location_name="ours"
        )
        target = InProcessTestWorkspaceLoadTarget(origin)
        with create_test_daemon_workspace_context(target, instance) as context:

            def look(now: datetime) -> int:
                with freeze_time(now):
                    log = logging.getLogger("scheduler")
                    errors = [each for each in launch_scheduled_runs(context, log, now, {}) if each is not None]
                assert not errors
                return instance.get_runs_count(dg.RunsFilter())

            yield look


def test_a_night_that_comes_twice_because_the_clock_was_set_back_has_its_two_runs_once(tick: Tick) -> None:
    assert tick(EVENING) == 0
    assert [tick(EVENING + after + SOON) for after in (TIPS_AT, BACKFILL_AT)] == [1, 2]
    assert tick(EVENING) == 2
    assert tick(EVENING + BACKFILL_AT + SOON) == 2
    assert tick(EVENING + BACKFILL_AT + timedelta(days=1, minutes=1)) == 4


def test_nights_that_the_clock_leapt_over_are_not_made_up_for(tick: Tick) -> None:
    tick(EVENING)
    assert tick(EVENING + timedelta(days=365 * 30)) <= 2
