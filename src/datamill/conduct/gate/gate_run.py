"""The sweeps of a gate: one build of base and head after the other, each benchmark in turns."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from statistics import fmean
from time import monotonic

import numpy as np

from datamill.analysis.gate.judge_benchmarks import (
    BASE,
    HEAD,
    BenchmarkVerdict,
    judge_benchmarks,
    list_open,
)
from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.steps import find_hiding_step
from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.gate.benchmark_values import BenchmarkError, BenchmarkValues, execute_benchmark
from datamill.conduct.timing.question import PADDING
from datamill.execution.command_session import CommandSession
from datamill.experiment.gate.gate import Benchmark, Gate

#: Padding of the environment is drawn up to this; 1 to 5 bytes cannot be.
_MOST_PADDING, _LEAST_PADDING = 4096, 6
#: Sweeps before the first look, and the share of them after which the next one comes.
_FIRST_LOOK, _LOOK_GROWTH = 6, 0.1
MOST_SWEEPS = 300
#: A benchmark that cannot be settled in the time left is measured in one of so many sweeps, for as long as
#: there are others that can.
_SELDOM = 4
#: Failures of a revision from which they may be too many, all executions from which they are, and the share
#: of executions from which they are else.
_FEWEST_FAILED, _FEWEST_RUNS, _MOST_FAILED = 3, 2, 0.3


@dataclass(slots=True)
class Measured:
    """What was measured of one benchmark's command: names of its values, and each by round and revision.

    `failing` are the revisions in which the command failed at once, and its tool wrote results all the same.
    `failures` are those of the whole command, `lacking` those of single values by name; each begins with its
    revision. `runs` counts executions by revision.
    """

    benchmark: Benchmark
    execution_s: float
    executions: int
    names: tuple[str, ...]
    failing: frozenset[str] = frozenset()
    values: dict[str, dict[int, dict[str, list[float]]]] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    lacking: dict[str, list[str]] = field(default_factory=dict)

    def note(self, number: int, revision: str, found: Mapping[str, float]) -> None:
        """Take the values of one execution."""
        for name in self.names:
            if name in found:
                cells = self.values.setdefault(name, {}).setdefault(number, {BASE: [], HEAD: []})
                cells[revision].append(found[name])

    def list_failures(self) -> list[tuple[str, list[str]]]:
        """Return what failed, the whole command first, each with how it did."""
        whole = [(self.benchmark.name, self.failures)] if self.failures else []
        return [*whole, *self.lacking.items()]

    def fails_often(self, failures: list[str]) -> bool:
        """Tell whether these are too many failures for the executions that a revision had."""
        return any(
            _FEWEST_RUNS <= self.runs[side] == count
            or (count >= _FEWEST_FAILED and count > _MOST_FAILED * self.runs[side])
            for side, count in ((side, count_failures(failures, side)) for side in (BASE, HEAD))
        )


class GateRun:
    """Measures benchmarks sweep by sweep until each is settled, or the time is over.

    Args:
        session: executes commands.
        gate: what is asked.
        checkouts: of `BASE` and `HEAD`.
        measured: the benchmarks, with what is known of their times.
        scratch: a folder of ours.
        make_build: makes a numbered build of both; None where builds do not differ.
        seed: of all that is drawn.
        tell: hears after each look.
    """

    def __init__(
        self,
        session: CommandSession,
        gate: Gate,
        checkouts: Mapping[str, Checkout],
        measured: list[Measured],
        scratch: Path,
        make_build: Callable[[int], None] | None,
        seed: int,
        tell: Callable[[tuple[BenchmarkVerdict, ...], int, float], None],
    ) -> None:
        self._session, self._gate, self._checkouts, self._scratch = session, gate, checkouts, scratch
        self._make_build, self._tell = make_build, tell
        self._random = random.Random(seed)
        self.measured = measured
        self.verdicts: tuple[BenchmarkVerdict, ...] = ()
        self.sweeps = 0
        self.interrupted = False
        self._began_s = monotonic()
        self._ended_s: float | None = None

    def run(self) -> None:
        """Sweep until all is settled or a bound ends it; an interruption ends the sweeps, not the answer.

        Raises:
            KeyboardInterrupt: when it came before there was anything to tell.
        """
        next_look = _FIRST_LOOK
        try:
            while self.sweeps < MOST_SWEEPS and (chosen := self._choose()):
                self._sweep(self.sweeps + 1, chosen)
                self.sweeps += 1
                if self.sweeps >= next_look:
                    self._look()
                    next_look = self.sweeps + max(1, int(_LOOK_GROWTH * self.sweeps))
        except KeyboardInterrupt:
            if self.sweeps < 2:
                raise
            self.interrupted = True
        self._look()
        self._ended_s = monotonic()

    @property
    def elapsed_s(self) -> float:
        """Time since the sweeps began, until they ended."""
        return (self._ended_s or monotonic()) - self._began_s

    def gather_rounds(self) -> dict[str, Rounds]:
        """Return the rounds of each value that a benchmark gives."""
        return {name: self._gather(item, name) for item in self.measured for name in item.names}

    def _gather(self, item: Measured, name: str) -> Rounds:
        cells = item.values.get(name, {})
        numbers = tuple(sorted(number for number in cells if number <= self.sweeps))
        rows = [
            [fmean(cells[number][side]) if cells[number][side] else nan for side in (BASE, HEAD)]
            for number in numbers
        ]
        steps = tuple(
            _find_step([value for number in numbers for value in cells[number][side]])
            for side in (BASE, HEAD)
        )
        values = np.array(rows).reshape(len(numbers), 2)
        return Rounds((BASE, HEAD), numbers, values, steps, item.executions)

    def _look(self) -> None:
        gate = self._gate
        self.verdicts = judge_benchmarks(
            self.gather_rounds(), alpha=gate.alpha, limit=gate.limit, tolerate=gate.tolerate
        )
        self._tell(self.verdicts, self.sweeps, self.elapsed_s)

    def _choose(self) -> list[Measured]:
        """The benchmarks of the next sweep: those in doubt, as far as the time left can settle them."""
        left_s = self._gate.within_s - self.elapsed_s
        if self.sweeps >= 2 and left_s < self.elapsed_s / self.sweeps:
            return []
        unsettled = set(list_open(self.verdicts)) if self.verdicts else None
        doubtful = [
            item
            for item in self.measured
            if not item.fails_often(item.failures) and (unsettled is None or unsettled & _list_working(item))
        ]
        hopeful = [item for item in doubtful if self._foresee_s(item) <= left_s]
        return hopeful if hopeful and self.sweeps % _SELDOM else doubtful

    def _foresee_s(self, item: Measured) -> float:
        """Time until the last of its values is settled, if they are as they seem."""
        working = _list_working(item)
        needed = [
            verdict.pair.needed_rounds - verdict.pair.interval.rounds
            for verdict in self.verdicts
            if verdict.name in working and not verdict.pair.settled
        ]
        return max(needed, default=0) * 2 * item.executions * item.execution_s

    def _sweep(self, number: int, chosen: list[Measured]) -> None:
        if self._make_build is not None:
            self._make_build(number)
        elif all(checkout.can_be_placed() for checkout in self._checkouts.values()):
            # One side alone would be placed by chance, and the other in one place for all rounds.
            for checkout in self._checkouts.values():
                checkout.place_anew()
        for item in self._random.sample(chosen, len(chosen)):
            for _ in range(item.executions):
                for side in self._random.sample((BASE, HEAD), 2):
                    self._execute(item, number, side)

    def _execute(self, item: Measured, number: int, side: str) -> None:
        item.runs[side] += 1
        try:
            found = self.execute(item.benchmark, side)
        except BenchmarkError as problem:
            item.failures.append(f"{side}: {problem}")
            return
        lacking = [name for name in item.names if name not in found.by_name]
        if found.problem and side not in item.failing and not lacking and not found.failed:
            # No benchmark of the tool accounts for it.
            item.failures.append(f"{side}: {found.problem}")
            return
        for name in lacking:
            reason = found.failed.get(name) or found.problem or "it gave no result"
            item.lacking.setdefault(name, []).append(f"{side}: {reason}")
        item.note(number, side, found.by_name)

    def execute(self, benchmark: Benchmark, side: str) -> BenchmarkValues:
        """Execute a benchmark once in the files of a revision.

        Raises:
            BenchmarkError: when it gives no value.
        """
        drawn = self._random.randrange(_LEAST_PADDING - 1, _MOST_PADDING + 1)
        padding = 0 if drawn < _LEAST_PADDING else drawn
        return execute_benchmark(
            self._session,
            benchmark,
            self._checkouts[side].directory,
            self._scratch,
            {PADDING: str(padding)},
            # By what is asked: names must not depend on what works.
            qualified=sum(bool(asked.tool) for asked in self._gate.benchmarks) > 1,
        )


def count_failures(failures: list[str], revision: str) -> int:
    """Return how many of some failures are of a revision."""
    return sum(failure.startswith(f"{revision}: ") for failure in failures)


def _list_working(item: Measured) -> set[str]:
    """The values that more rounds may still tell something of."""
    return {name for name in item.names if not item.fails_often(item.lacking.get(name, []))}


def _find_step(values: list[float]) -> float:
    known = np.array(values)
    return find_hiding_step(known, np.zeros(known.size, dtype=np.int64)) if known.size else 0.0
