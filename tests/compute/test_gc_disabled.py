from __future__ import annotations

import gc

import pytest

from megacpp_assets.compute.gc_disabled import gc_disabled


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
