"""What any predictor has to beat: always, and never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamill.selection.predictors.case import Case


@dataclass(frozen=True, slots=True)
class Constant:
    """Decides the same of every case (thesis 2019, 1.9.3)."""

    runs: bool
    warnings: tuple[str, ...] = ()

    def decides(self, case: Case) -> bool:  # noqa: ARG002
        """Whether the benchmark must run."""
        return self.runs

    def score(self, case: Case) -> float:  # noqa: ARG002
        """1 for always, 0 for never."""
        return float(self.runs)


def fit_always(cases: Sequence[Case]) -> Constant:  # noqa: ARG001
    """Run every benchmark of every commit."""
    return Constant(runs=True)


def fit_never(cases: Sequence[Case]) -> Constant:  # noqa: ARG001
    """Run none."""
    return Constant(runs=False)
