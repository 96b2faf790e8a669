"""Where the kernel keeps a program is noise between rounds, not a difference between revisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD
from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.gate.benchmark_values import BenchmarkValues
from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.execution.command_session import CommandSession
from datamill.experiment.gate.gate import Benchmark, Gate

BENCHMARK = Benchmark("bench", "./bench")


class Counted(Checkout):
    """A checkout of nothing, which counts how often it is placed anew."""

    def __init__(self, *, is_small: bool = True) -> None:
        self.placed = 0
        self.is_small = is_small

    def can_be_placed(self) -> bool:
        return self.is_small

    def place_anew(self) -> None:
        self.placed += 1


class PlayedRun(GateRun):
    """A run whose executions all take the same time."""

    def execute(self, benchmark: Benchmark, side: str) -> BenchmarkValues:  # noqa: ARG002
        return BenchmarkValues({"bench": 1.0}, 1e-3)


def run_gate(
    make_build: Callable[[int], None] | None, *, is_head_small: bool = True
) -> tuple[int, list[int]]:
    checkouts = {BASE: Counted(), HEAD: Counted(is_small=is_head_small)}
    run = PlayedRun(
        cast("CommandSession", None), Gate((BENCHMARK,), within_s=60.0), dict(checkouts),
        [Measured(BENCHMARK, 1e-3, 1, ("bench",))], Path(), make_build, 1, lambda *_: None,
    )  # fmt: skip
    run.run()
    return run.sweeps, [checkout.placed for checkout in checkouts.values()]


def test_builds_that_are_the_same_are_placed_anew_in_each_round() -> None:
    sweeps, placed = run_gate(None)
    assert sweeps > 1
    assert placed == [sweeps, sweeps]


def test_one_build_is_not_placed_anew_where_the_other_is_too_large_for_that() -> None:
    assert run_gate(None, is_head_small=False)[1] == [0, 0]


def test_builds_that_are_made_anew_need_no_other_place() -> None:
    assert run_gate(lambda _: None)[1] == [0, 0]
