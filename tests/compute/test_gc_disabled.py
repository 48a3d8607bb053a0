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


def test_the_collector_rests_during_the_work_and_goes_on_after_it() -> None:
    assert gc.isenabled()
    assert not collects()
    assert gc.isenabled()


def test_it_goes_on_after_a_failure_too() -> None:
    with pytest.raises(ValueError, match="False"):
        fail()
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        assert not collects()
        assert not gc.isenabled()
    finally:
        gc.enable()
