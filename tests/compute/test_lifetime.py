"""A request to end a process waits for what must not be left halfway."""

from __future__ import annotations

import signal
import threading

import pytest

from megacpp_assets.compute.lifetime import undisturbed


def test_a_signal_inside_the_block_is_heard_when_it_is_over() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")
        done.append("what comes after it")
    assert done == ["the rest of the block"]


def test_afterwards_signals_are_heard_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with undisturbed():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_other_threads_may_use_it_too() -> None:
    done: list[str] = []

    def work() -> None:
        with undisturbed():
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["worked"]
