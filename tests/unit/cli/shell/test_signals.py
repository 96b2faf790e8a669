"""Signals that end a command, and those that are ignored, as under nohup."""

import signal
from collections.abc import Callable, Iterator

import pytest

from datamill.cli.signals import end_politely, finish_quietly, leave_to_kernel


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    handlers = [signal.getsignal(number) for number in numbers]
    for number in numbers[1:]:
        # Under nohup they are ignored.
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("prepare", [end_politely, leave_to_kernel, finish_quietly])
def test_a_signal_that_is_ignored_stays_so(prepare: Callable[[], None]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    prepare()
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_a_command_that_is_done_raises_nothing_at_a_signal() -> None:
    end_politely()
    finish_quietly()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        assert signal.getsignal(number) == signal.SIG_DFL
