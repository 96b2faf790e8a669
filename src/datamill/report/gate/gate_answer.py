"""The answer of a gate as records: each benchmark, what is an alarm, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from datamill.analysis.gate.judge_benchmarks import BenchmarkVerdict
from datamill.analysis.gate.power import Found
from datamill.experiment.gate.gate import Gate
from datamill.results.bundles.decisions import LookInterval

Verdict = Literal["slower", "faster", "unchanged", "cannot tell"]
_WORDS: dict[str, Verdict] = {"more": "slower", "less": "faster", "unchanged": "unchanged"}


@dataclass(frozen=True, slots=True)
class BenchmarkAnswer:
    """One benchmark: means in seconds, the change of head as a share of base with its interval, the verdict.

    `of` tells a change of means from one of typical values. `n` counts rounds: builds where builds differ,
    else executions. `detectable` is the slowdown that so many make an alarm of with probability 80%. The
    means `base` and `head` have intervals of their own, each at the level of the gate.
    """

    name: str
    base: LookInterval | None
    head: LookInterval | None
    change: float | None
    low: float | None
    high: float | None
    of: Literal["mean", "typical"]
    n: int
    verdict: Verdict
    is_alarm: bool
    detectable: float | None


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """All that a gate answers.

    `power` is the chance that a slowdown of that size is an alarm, by its size, in the mean over benchmarks.
    `base_lacks` says that base cannot be built, so that nothing could be compared. `uncompared` are those of
    the warnings that say what is not compared, and why.
    """

    gate: Gate
    base: str
    head: str
    benchmarks: tuple[BenchmarkAnswer, ...]
    broken: tuple[str, ...]
    added: tuple[str, ...]
    power: Mapping[float, float]
    warnings: tuple[str, ...]
    rounds: int
    varies: bool
    measured_s: float
    interrupted: bool
    base_lacks: bool = False
    uncompared: tuple[str, ...] = ()

    @property
    def alarms(self) -> tuple[BenchmarkAnswer, ...]:
        """Benchmarks that are certainly slower by more than is tolerated, the worst first."""
        found = [item for item in self.benchmarks if item.is_alarm]
        return tuple(sorted(found, key=lambda item: -(item.change or 0.0)))

    @property
    def passes(self) -> bool:
        """Whether nothing is slower or broken."""
        return not self.alarms and not self.broken


def build_gate_answer(
    gate: Gate,
    verdicts: Sequence[BenchmarkVerdict],
    found: Mapping[str, Found],
    power: Mapping[float, float],
    *,
    base: str,
    head: str,
    broken: tuple[str, ...],
    added: tuple[str, ...],
    warnings: tuple[str, ...],
    sweeps: int,
    varies: bool,
    measured_s: float,
    interrupted: bool,
    base_lacks: bool = False,
    uncompared: tuple[str, ...] = (),
) -> GateAnswer:
    """Return the answer that verdicts are.

    Args:
        gate: what was asked.
        verdicts: on each benchmark.
        found: the slowdowns that each benchmark finds, by its name.
        power: chance that a slowdown is an alarm, by its size, in the mean over benchmarks.
        base: what people read of the revision that was.
        head: the same of the one that is judged.
        broken: sentences about what worked in base and does not in head.
        added: names of benchmarks that base lacks.
        warnings: a sentence each, without the full stop.
        sweeps: rounds of the benchmark that has the most.
        varies: whether each round is another build.
        measured_s: time from the first round to the last.
        interrupted: whether the user ended it.
        base_lacks: whether base cannot be built.
        uncompared: those of the warnings that say what is not compared, and why.
    """
    return GateAnswer(
        gate=gate,
        base=base,
        head=head,
        benchmarks=tuple(_take(verdict, found.get(verdict.name)) for verdict in verdicts),
        broken=broken,
        added=added,
        power=power,
        warnings=warnings,
        rounds=sweeps,
        varies=varies,
        measured_s=measured_s,
        interrupted=interrupted,
        base_lacks=base_lacks,
        uncompared=uncompared,
    )


def _take(verdict: BenchmarkVerdict, found: Found | None) -> BenchmarkAnswer:
    interval = verdict.pair.interval
    return BenchmarkAnswer(
        verdict.name,
        verdict.base,
        verdict.head,
        interval.estimate,
        interval.low,
        interval.high,
        interval.of,
        interval.rounds,
        _WORDS.get(verdict.pair.verdict, "cannot tell"),
        verdict.is_alarm,
        found.detectable if found is not None else None,
    )
