"""Signals that wait."""

import os
import signal
from collections.abc import Iterator

import pytest

from datamill.execution.late_signals import deferring_signals


@pytest.fixture(autouse=True)
def raising_interrupts() -> Iterator[None]:
    """Have Python raise an interruption, whatever the process was started with."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def interrupt_within(done: list[str]) -> None:
    with deferring_signals():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all of it")


def interrupt_and_fail() -> None:
    with deferring_signals():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("first")


def test_an_interruption_is_raised_when_the_block_has_ended() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupt_within(done)
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_the_block_raises_comes_before_an_interruption() -> None:
    with pytest.raises(ValueError, match="first"):
        interrupt_and_fail()
