"""A model that decides at another score than its own, and that is careful where it knows no change."""

from __future__ import annotations

import msgspec

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.constant import Constant
from datamill.selection.predictors.models.forest import Forest
from datamill.selection.predictors.models.kernel_machine import KernelMachine
from datamill.selection.predictors.models.linear import Logistic
from datamill.selection.predictors.models.stumps import Boosted
from datamill.selection.predictors.models.thresholds import Perphecy

ScoringModel = Logistic | Boosted | Perphecy | Constant | Forest | KernelMachine

#: Features above 0 where something that the benchmark uses may be different.
_REACHING = (
    "own.reached_changed",
    "own.data_reached",
    "own.build_changed",
    "indicator.reached_deleted",
    "own.callers_hot",
)


class Guarded(msgspec.Struct, frozen=True, tag="guarded"):
    """Runs a benchmark from the score `least` on.

    `careful`: its history has no change to learn from, so that it runs whatever a change reaches: functions
    that the benchmark executed, their data, their callers, options of the compiler.
    """

    model: ScoringModel
    least: float
    careful: bool = False
    warnings: tuple[str, ...] = ()

    def score(self, case: Case) -> float:
        """Return what the model gives."""
        return self.model.score(case)

    def decides(self, case: Case) -> bool:
        """Whether the benchmark must run."""
        if self.careful:
            return any(case.features.get(name, 0.0) > 0 for name in _REACHING)
        return self.score(case) >= self.least
