"""Warnings about the machine on which commands are timed, given made executions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from datamill.conduct.timing import cautions
from datamill.conduct.timing.cautions import find_load, list_cautions, list_limits
from datamill.conduct.timing.question import TimingQuestion
from datamill.conduct.timing.warm_up import WarmUp
from datamill.experiment.command_lines import read_commands

QUESTION = TimingQuestion(read_commands(["a"]), Path("/"))
MS = 1_000_000


@pytest.fixture(autouse=True)
def two_quiet_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cautions.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(cautions.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    # As plugged in: a machine on its battery has one sentence more.
    monkeypatch.setattr(cautions, "look_at_machine", lambda _: [])


def execution(span_ms: float, own_ms: float, busy_ms: float) -> Any:
    run = SimpleNamespace(
        user_time_ns=round(own_ms * MS), system_time_ns=0, left_processes=0, wall_time_ns=round(span_ms * MS),
        stdout_bytes=0,
    )  # fmt: skip
    disturbance = SimpleNamespace(
        span_ns=round(span_ms * MS), busy_time_ns=round(busy_ms * MS), steal_time_ns=0, suspended_ns=0,
        throttle_events=0, other_time_ns=max(0, round((busy_ms - own_ms) * MS)),
    )  # fmt: skip
    return SimpleNamespace(package="a", outcome="completed", run=run, disturbance=disturbance)


def list_others(*executions: Any) -> list[str]:
    return [text for text in list_limits(QUESTION, executions) if "other programs" in text]


def list_busy(warm: WarmUp) -> list[str]:
    return [text for text in list_cautions(QUESTION, warm) if "is busy" in text]


def test_ticks_of_short_executions_are_not_taken_for_other_programs() -> None:
    # Of executions of 1 ms the kernel counts nine as nothing, and the tenth as a whole tick.
    ticking = [execution(1.2, 1.0, 10.0 if number % 10 == 0 else 0.0) for number in range(200)]
    assert list_others(*ticking) == []


def test_other_programs_are_told_with_their_share_of_all_processors() -> None:
    assert list_others(*[execution(1000, 990, 1490)] * 5) == [
        "other programs used 25% of the processors' time while commands were measured"
    ]


def test_a_machine_that_was_quiet_until_now_is_called_busy_at_once() -> None:
    busy = WarmUp(executions={"a": [SimpleNamespace(answer=execution(1000, 990, 1990))]})
    assert list_busy(busy) == [
        "this machine is busy: other programs used 50% of the processors' time while the commands warmed up"
    ]
    quiet = WarmUp(executions={"a": [SimpleNamespace(answer=execution(1000, 990, 1000))]})
    assert list_busy(quiet) == []


@pytest.mark.parametrize(
    ("minute", "running", "waiting", "load"),
    [
        (1.9, 1, 0, 0.0),  # A build that has just ended.
        (0.3, 4, 0, 0.0),  # What has just begun shows while commands warm up.
        (1.9, 2, 0, 1.0),
        (1.9, 1, 3, 1.9),  # As busy with its disks.
        (4.0, 9, 0, 4.0),
    ],
)
def test_a_machine_is_busy_if_it_was_so_for_a_minute_and_is_so_now(
    monkeypatch: pytest.MonkeyPatch, minute: float, running: int, waiting: int, load: float
) -> None:
    def read(path: Path) -> str:
        assert path == Path("/proc/stat")
        return f"cpu  1 2 3\nctxt 12\nprocs_running {running}\nprocs_blocked {waiting}\nsoftirq 1 2 3\n"

    monkeypatch.setattr(cautions.os, "getloadavg", lambda: (minute, 0.5, 0.1))
    monkeypatch.setattr(cautions.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(cautions, "_read", read)
    assert find_load() == load


def test_where_the_kernel_does_not_tell_what_runs_the_last_minute_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cautions.os, "getloadavg", lambda: (1.9, 0.5, 0.1))
    monkeypatch.setattr(cautions.os, "sched_getaffinity", lambda _: {0, 1})
    for told in ("", "cpu\n", "cpu 1 2 3\nprocs_running 1"):
        monkeypatch.setattr(cautions, "_read", lambda _, told=told: told)
        assert find_load() == 1.9


def test_too_few_executions_to_tell_anything_are_called_so_before_they_run() -> None:
    commands = read_commands(["a", "b", "c"])
    (text,) = list_cautions(TimingQuestion(commands, Path("/"), most_rounds=9), WarmUp())
    assert text == (
        "9 executions of each are too few to tell commands apart, however much they differ: that takes 10"
    )
    assert list_cautions(TimingQuestion(commands, Path("/"), most_rounds=10), WarmUp()) == ()
    assert list_cautions(TimingQuestion(commands[:1], Path("/"), most_rounds=2), WarmUp()) == ()


def test_short_commands_are_named_together() -> None:
    commands = read_commands(["a", "b", "c", "d", "e"])
    seen = WarmUp(
        executions={item.name: [SimpleNamespace(answer=execution(2, 1, 0))] for item in commands},
        start_s=0.001,
    )
    (text,) = list_cautions(TimingQuestion(commands, Path("/")), seen)
    assert text == (
        "starting a process takes about 1 ms, a good part of a (2 ms), b (2 ms), c (2 ms) and 2 more: "
        "differences are larger shares of the rest"
    )


def test_of_many_commands_whose_outputs_differ_one_of_each_size_is_named() -> None:
    commands = read_commands([f"echo {number}" for number in range(8, 14)])
    seen = WarmUp(outputs={item.name: {item.name} for item in commands})
    for item in commands:
        ended = execution(100, 1, 0)
        ended.run.stdout_bytes = len(item.text) - 4
        seen.executions[item.name] = [SimpleNamespace(answer=ended)]
    (text,) = list_cautions(TimingQuestion(commands, Path("/")), seen)
    assert text == (
        "the commands do not write the same output (echo 8: 2 B, echo 10: 3 B, …): make sure that they do "
        "the same work"
    )
