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

#: 0 where no function, data or option differs; a history that was learnt from before it was there lacks it.
_SEEN = "own.is_seen"


class Guarded(msgspec.Struct, frozen=True, tag="guarded"):
    """Runs a benchmark from the score `least` on; where no function, data or option differs it never runs.

    `careful`: its history has no change to learn from, so that it runs whatever a change reaches: functions
    that the benchmark executed, their data, their callers, options of the compiler.
    """

    model: ScoringModel
    least: float
    careful: bool = False
    warnings: tuple[str, ...] = ()

    def score(self, case: Case) -> float:
        """Return what the model gives, and 0 where nothing that is executed differs."""
        return self.model.score(case) if is_seen(case) else 0.0

    def decides(self, case: Case) -> bool:
        """Whether the benchmark must run."""
        if not is_seen(case):
            return False
        if self.careful:
            return any(case.features.get(name, 0.0) > 0 for name in _REACHING)
        return self.score(case) >= self.least


def is_seen(case: Case) -> bool:
    """Whether a function, data or an option differs."""
    return case.features.get(_SEEN, 1.0) > 0
