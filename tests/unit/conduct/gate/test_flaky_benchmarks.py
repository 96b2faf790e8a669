"""A benchmark of a tool that fails now and then, among others that do not."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from datamill.analysis.gate.judge_benchmarks import HEAD
from datamill.conduct.gate.benchmark_values import BenchmarkValues
from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.conduct.gate.try_benchmarks import list_breaking, list_failing
from datamill.execution.command_session import CommandSession
from datamill.experiment.gate.gate import Benchmark, Gate

BENCHMARK = Benchmark("bench", "./bench", tool="google-benchmark")
#: What the n-th execution of a revision gives.
Play = Callable[[str, int], BenchmarkValues]


class PlayedRun(GateRun):
    """A run whose executions give what is said beforehand."""

    def __init__(self, play: Play) -> None:
        gate = Gate((BENCHMARK,), within_s=60.0)
        measured = [Measured(BENCHMARK, 1e-3, 1, ("steady", "flaky"))]
        session = cast("CommandSession", None)
        super().__init__(session, gate, {}, measured, Path(), None, 1, lambda *_: None)
        self.play, self.executed = play, dict.fromkeys(("base", "head"), 0)

    def execute(self, benchmark: Benchmark, side: str) -> BenchmarkValues:  # noqa: ARG002
        self.executed[side] += 1
        return self.play(side, self.executed[side])


def run_flaky(fails: Callable[[str, int], bool], *, reported: bool, problem: str = "") -> PlayedRun:
    def play(side: str, number: int) -> BenchmarkValues:
        # They differ by far, with some noise, so that a few rounds settle it.
        times = {"steady": (2.0 if side == HEAD else 1.0) + number % 3 / 100, "flaky": 1.0 + number % 4 / 100}
        if not fails(side, number):
            return BenchmarkValues(times, 1e-3)
        del times["flaky"]
        return BenchmarkValues(times, 1e-3, {"flaky": "failed: no luck"} if reported else {}, problem)

    run = PlayedRun(play)
    run.run()
    return run


def test_a_benchmark_that_fails_in_half_of_executions_does_not_keep_others_from_being_measured() -> None:
    run = run_flaky(lambda _, number: number % 2 == 0, reported=True, problem="ended with status 1")
    verdicts = {verdict.name: verdict for verdict in run.verdicts}
    assert verdicts["steady"].is_alarm
    assert list_breaking(run) == []
    (told,) = list_failing(run, often=True)
    assert told.startswith("flaky failed in ")
    assert told.endswith(": failed: no luck)")
    # It is not measured for its own sake.
    assert run.sweeps < 100


def test_a_benchmark_that_head_leaves_out_from_its_second_execution_on_is_broken() -> None:
    run = run_flaky(lambda side, _: side == HEAD, reported=False)
    (told,) = list_breaking(run)
    assert told.startswith("flaky failed in ")
    assert told.endswith(" in base (first in head: it gave no result)")
    failed, of = (
        told.removeprefix("flaky failed in ").partition(" executions in head, in 0 of ")[0].split(" of ")
    )
    assert failed == of


def test_a_benchmark_that_fails_in_half_of_heads_executions_and_never_in_base_is_broken() -> None:
    run = run_flaky(lambda side, number: side == HEAD and number % 2 == 0, reported=True)
    (told,) = list_breaking(run)
    assert told.startswith("flaky failed in ")
    assert " executions in head, in 0 of " in told


def test_a_failure_now_and_then_is_told_and_is_not_broken() -> None:
    run = run_flaky(lambda side, number: side == HEAD and number == 3, reported=True)
    assert list_breaking(run) == []
    assert list_failing(run, often=True) == []
    (told,) = list_failing(run, often=False)
    assert told.startswith("flaky failed in 1 of ")
