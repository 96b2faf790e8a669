"""From which score on a benchmark runs: by what a miss costs, or by a hit rate that is to hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datamill.experiment.messages.numbers import format_share
from datamill.selection.predictors.case import Case, Model, keep_labelled
from datamill.selection.predictors.models.guarded import Guarded, ScoringModel
from datamill.selection.predictors.models.probability import choose_least

#: Contiguous parts of the history, each scored by a model of the others.
PARTS = 5


@dataclass(frozen=True, slots=True)
class GuardedFit:
    """Fits a model and decides at a score of its own.

    `miss_cost` is what a missed change costs, in executions of the benchmark; `hit_rate` the share of changes
    that are to be found, which comes first where both are given.
    """

    fit: Callable[[Sequence[Case]], ScoringModel]
    miss_cost: float = 19.0
    hit_rate: float | None = None

    def __call__(self, cases: Sequence[Case]) -> Model:
        """Return the model; without a change in the history it runs whatever a change reaches."""
        labelled = keep_labelled(cases)
        model = self.fit(labelled)
        warnings = list(model.warnings)
        if not any(case.changed for case in labelled):
            warnings.append(
                "the history has no change to learn from: every benchmark that a change reaches will run"
            )
            return Guarded(model, choose_least(self.miss_cost), True, tuple(warnings))
        if self.hit_rate is None:
            return Guarded(model, choose_least(self.miss_cost), False, tuple(warnings))
        least = find_conformal_least(score_held_out(labelled, self.fit), self.hit_rate)
        if least == -math.inf:
            changes = sum(bool(case.changed) for case in labelled)
            warnings.append(
                f"{changes} changes are too few to promise a hit rate of {format_share(self.hit_rate)}: "
                "every benchmark will run"
            )
            least = -1.0
        return Guarded(model, least, False, tuple(warnings))


def score_held_out(cases: Sequence[Case], fit: Callable[[Sequence[Case]], Model]) -> list[float]:
    """Return scores of the changed cases, each by a model of the other parts of the history."""
    ordered = sorted(cases, key=lambda case: case.new_order)
    scores: list[float] = []
    size = math.ceil(len(ordered) / PARTS)
    for start in range(0, len(ordered), max(size, 1)):
        held = ordered[start : start + size]
        rest = [*ordered[:start], *ordered[start + size :]]
        if not rest:
            continue
        model = fit(rest)
        scores += [model.score(case) for case in held if case.changed]
    return scores


def find_conformal_least(scores: Sequence[float], hit_rate: float) -> float:
    """Return the score that a new change reaches with a probability of at least `hit_rate`.

    Of n scores of changes that were not learnt from it is the k-th smallest, k = ⌊(1 - hit rate)(n + 1)⌋;
    minus infinity where k is 0. It holds where the next change is exchangeable with those of the history
    (Vovk, Gammerman and Shafer 2005; Mondrian conformal prediction, of the class of changes alone).
    """
    place = math.floor((1 - hit_rate) * (len(scores) + 1) + 1e-9)
    return sorted(scores)[place - 1] if place >= 1 and scores else -math.inf
