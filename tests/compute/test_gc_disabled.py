from __future__ import annotations

import gc

import pytest

from megacpp_assets.compute.gc_disabled import gc_disabled, search_for_cycles_rarely


@gc_disabled
def collects() -> bool:
    """Whether the collector is on in here."""
    return gc.isenabled()


@gc_disabled
def fail() -> None:
    """End with an error."""
    raise ValueError(str(gc.isenabled()))


def test_the_cycle_collector_is_disabled_during_the_work() -> None:
    assert gc.isenabled()
    assert not collects()
    assert gc.isenabled()


def test_the_cycle_collector_is_enabled_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="False"):
        fail()
    assert gc.isenabled()


def test_a_cycle_collector_that_was_disabled_stays_disabled() -> None:
    gc.disable()
    try:
        assert not collects()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_program_that_searches_rarely_still_frees_cycles() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)  # a command that ran in this process before may have set it too
        search_for_cycles_rarely()
        assert gc.isenabled() and gc.get_threshold()[0] > 700
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
        assert gc.collect() >= 1
    finally:
        gc.set_threshold(*before)
