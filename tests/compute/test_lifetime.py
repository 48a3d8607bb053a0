"""A request to end a process waits for what must not be left halfway."""

from __future__ import annotations

import signal
import threading

import pytest

from megacpp_assets.compute.lifetime import ended_by_signals, signals_deferred


def test_a_signal_inside_the_block_is_delivered_after_it() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        with signals_deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")
        done.append("what comes after it")
    assert done == ["the rest of the block"]


def test_signals_are_delivered_as_before_after_the_block() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with signals_deferred():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_other_threads_may_use_it_too() -> None:
    done: list[str] = []

    def work() -> None:
        with signals_deferred():
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["worked"]


def test_a_signal_that_a_library_reports_as_its_error_is_still_a_signal() -> None:
    with pytest.raises(KeyboardInterrupt) as ended, ended_by_signals():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as interrupt:
            raise RuntimeError("an error of the library's") from interrupt
    assert ended.value.args == (signal.SIGTERM,)


def test_a_signal_that_a_library_went_on_after_ends_the_block() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as ended, ended_by_signals():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            pass
    assert ended.value.args == (signal.SIGTERM,)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_error_without_a_signal_stays_itself() -> None:
    with pytest.raises(RuntimeError, match="its own"), ended_by_signals():
        raise RuntimeError("its own")
