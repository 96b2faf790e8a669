"""The coordinator's log: whatever comes from outside, it is bounded, and one line of ours is one line."""

from __future__ import annotations

import io
import logging

import pytest

from datamill.service.front_door.repeats import MOST_BYTES, MOST_LINES, MOST_OF_A_KIND, WINDOW_S, CalmHandler


class Log:
    """A log of its own, with a clock that stands still."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.written = io.StringIO()
        self.handler = CalmHandler(self.written, lambda: self.now_s)
        self.handler.setFormatter(logging.Formatter("%(levelname).1s %(name)s: %(message)s"))

    def say(self, text: str, *arguments: object, error: BaseException | None = None, name: str = "a") -> None:
        trace = (type(error), error, error.__traceback__) if error is not None else None
        self.handler.handle(logging.LogRecord(name, logging.WARNING, "", 1, text, arguments, trace))

    def lines(self) -> list[str]:
        return self.written.getvalue().splitlines()


@pytest.fixture
def log() -> Log:
    return Log()


def test_the_same_line_stands_once_a_minute_and_then_how_often_it_came(log: Log) -> None:
    for _ in range(1204):
        log.say("no connection can be taken")
    assert log.lines() == ["W a: no connection can be taken"]
    log.now_s = WINDOW_S
    log.say("something else")
    assert log.lines()[1:] == [
        "I datamill.log: … and 1\u202f203 more like it in the last minute: no connection can be taken",
        "W a: something else",
    ]
    log.say("no connection can be taken")
    assert log.lines()[-1] == "W a: no connection can be taken"


def test_lines_that_differ_in_what_their_sender_chose_are_of_one_kind(log: Log) -> None:
    for number in range(500):
        log.say("refused: %s", f"/page{number}")
    assert len(log.lines()) == MOST_OF_A_KIND
    log.now_s = WINDOW_S
    log.handler.tell_repeats()
    assert log.lines()[-1].startswith(f"I datamill.log: … and {500 - MOST_OF_A_KIND} more like it")


def test_what_was_left_out_is_told_when_the_log_ends(log: Log) -> None:
    for _ in range(3):
        log.say("again")
    log.handler.close()
    assert log.lines()[-1].startswith("I datamill.log: … and 2 more like it")


def test_no_minute_has_more_than_the_bound_whatever_differs(log: Log) -> None:
    words = [f"{a}{b}{c}" for a in "abcdefghijkl" for b in "abcdefghijkl" for c in "abcdefghijkl"]
    for word in words:
        log.say(f"{word} {'x' * 900}")
    assert len(log.lines()) <= MOST_LINES
    assert len(log.written.getvalue()) < MOST_BYTES
    log.now_s = WINDOW_S
    log.handler.tell_repeats()
    assert log.lines()[-1].endswith("more lines of all kinds in the last minute")
    log.say("and so on")
    assert log.lines()[-1] == "W a: and so on"


def test_no_text_makes_a_line_of_its_own_or_commands_a_terminal(log: Log) -> None:
    try:
        raise ValueError("it\n2026-01-01 00:00:00,000 I datamill.serve: all is well\x1b[2J\r")
    except ValueError as error:
        log.say("failed: %s", "\u202egnp\nW a: forged\x1b[31m\ud800", error=error)
    first, *rest = log.lines()
    assert first == r"W a: failed: \u202egnp\nW a: forged\x1b[31m\ud800"
    assert "Traceback" in rest[0]
    assert all(line.startswith("  ") for line in rest)
    assert not set(log.written.getvalue()) & {"\x1b", "\r", "\u202e"}


def test_one_line_is_no_longer_than_lines_are(log: Log) -> None:
    log.say("x" * 10_000_000)
    assert len(log.written.getvalue()) < 2000


def test_other_errors_of_ours_are_told_beside_one_that_repeats(log: Log) -> None:
    for _ in range(50):
        log.say("Internal Server Error: %s", "/a", error=ZeroDivisionError("one"))
    log.say("Internal Server Error: %s", "/a", error=KeyError("two"))
    told = log.written.getvalue()
    assert told.count("ZeroDivisionError: one") == 1
    assert "KeyError: 'two'" in told
