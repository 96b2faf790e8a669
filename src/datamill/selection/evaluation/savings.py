"""What predictions save: time that benchmarks do not take, and changes that are seen later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from datamill.selection.evaluation.predictions import PredictedCase


@dataclass(frozen=True, slots=True)
class Savings:
    """Machine time of all predicted cases, and of those that ran, in hours; None where nothing was timed.

    `missed` counts changes that were skipped. `delays`: of each change that was skipped and found at a later
    version, since its benchmark then ran, how many predicted versions later that was; `never` counts those
    after which the benchmark did not run again.
    """

    cases: int
    runs: int
    all_hours: float | None
    run_hours: float | None
    missed: int
    delays: tuple[int, ...]
    never: int

    @property
    def saved_hours(self) -> float | None:
        """Hours that were not spent."""
        if self.all_hours is None or self.run_hours is None:
            return None
        return self.all_hours - self.run_hours


def count_savings(
    predictions: Sequence[PredictedCase],
    seconds: Mapping[str, float | None] | Callable[[str], float | None],
    repetitions: int,
) -> Savings:
    """Add up what ran and was skipped; a case costs `repetitions` executions in `seconds` each."""
    ask = seconds if callable(seconds) else seconds.get
    costs = {name: ask(name) for name in {item.case.benchmark for item in predictions}}
    known = all(value is not None for value in costs.values()) and bool(costs)

    def add(items: Sequence[PredictedCase]) -> float | None:
        if not known:
            return None
        return sum((costs[item.case.benchmark] or 0.0) * repetitions for item in items) / 3600

    runs = [item for item in predictions if item.run]
    delays: list[int] = []
    missed = never = 0
    for benchmark in costs:
        own = sorted(
            (item for item in predictions if item.case.benchmark == benchmark),
            key=lambda item: item.case.new_order,
        )
        for place, item in enumerate(own):
            if item.run or not item.case.changed:
                continue
            missed += 1
            later = [number for number, other in enumerate(own[place + 1 :], start=1) if other.run]
            if later:
                delays.append(later[0])
            else:
                never += 1
    return Savings(len(predictions), len(runs), add(predictions), add(runs), missed, tuple(delays), never)
