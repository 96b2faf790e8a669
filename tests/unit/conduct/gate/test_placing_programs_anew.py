"""Where the kernel keeps a program is noise between rounds, not a difference between revisions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD
from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.gate.benchmark_values import BenchmarkValues
from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.execution.command_session import CommandSession
from datamill.experiment.gate.gate import Benchmark, Gate
from datamill.packing.git.git_trees import GitTree, GitTrees

BENCHMARK = Benchmark("bench", "./bench")


class Counted(Checkout):
    """A checkout of nothing, which counts how often it is placed anew."""

    def __init__(self) -> None:
        self.placed = 0

    def place_anew(self) -> None:
        self.placed += 1


class PlayedRun(GateRun):
    """A run whose executions all take the same time."""

    def execute(self, benchmark: Benchmark, side: str) -> BenchmarkValues:  # noqa: ARG002
        return BenchmarkValues({"bench": 1.0}, 1e-3)


def run_gate(make_build: Callable[[int], None] | None) -> tuple[int, list[int]]:
    checkouts = {BASE: Counted(), HEAD: Counted()}
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


def test_builds_that_are_made_anew_need_no_other_place() -> None:
    assert run_gate(lambda _: None)[1] == [0, 0]


def test_what_a_build_made_is_dropped_from_memory_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trees:
        inner = ""

        def export(self, tree: GitTree, folder: Path) -> None:  # noqa: ARG002
            folder.mkdir(parents=True)

    class Built(Checkout):
        def note(self, *made: Path) -> None:
            self._made = list(made)

    dropped: Counter[str] = Counter()

    def drop(descriptor: int, offset: int, length: int, advice: int) -> None:
        assert (offset, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)
        dropped[Path(f"/proc/self/fd/{descriptor}").readlink().name] += 1

    tree = cast("GitTree", type("Tree", (), {"name": "a", "title": "a"}))
    checkout = Built(cast("GitTrees", Trees()), tree, tmp_path / "a", "make")
    program, gone = tmp_path / "prog", tmp_path / "gone"
    program.write_bytes(b"\1" * 100_000)
    checkout.note(program, gone)
    monkeypatch.setattr(os, "posix_fadvise", drop)
    checkout.place_anew()
    assert dropped == {"prog": 1}
    assert program.read_bytes() == b"\1" * 100_000
