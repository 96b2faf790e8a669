"""Whose the worst models are (thesis 2015, Table 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.evaluation.evaluation_plan import EvaluationPlan, Variant, list_targets
from datamill.platforms.evaluation.size_errors import JoinedErrors


@dataclass(frozen=True, slots=True)
class WorstModels:
    """The decile of a variant's models with the largest NRMSE, by target machine and by application.

    `machines` counts the models that have a machine among their targets, `applications` those of an
    application; both from the most to the fewest, those with no model left out. `low` and `high` are the
    smallest and largest NRMSE among them, in shares. `blamed` are the fewest applications that have at least
    half of the decile; without them the largest error of all models is `worst_of_others` (NaN where no
    others are).
    """

    variant: Variant
    size: int
    models: int
    targets: int
    low: float
    high: float
    machines: tuple[tuple[str, int], ...]
    applications: tuple[tuple[str, int], ...]
    blamed: tuple[str, ...]
    worst_of_others: float


def find_worst(plan: EvaluationPlan, variant: Variant, size: int, joined: JoinedErrors) -> WorstModels:
    """Count the tenth of the models that err most, at least one, by whom they predict."""
    count = max(1, round(len(joined.nrmse) / 10))
    worst = np.argsort(-joined.nrmse, kind="stable")[:count]
    targets = list_targets(plan.list_sets(size)[joined.places[worst]], len(plan.machines))
    machines = np.bincount(targets.ravel(), minlength=len(plan.machines))
    applications = np.bincount(joined.applications[worst], minlength=len(plan.applications))
    order = np.argsort(-applications, kind="stable")
    half = int(np.searchsorted(np.cumsum(applications[order]), count / 2)) + 1
    others = joined.nrmse[~np.isin(joined.applications, order[:half])]
    return WorstModels(
        variant=variant,
        size=size,
        models=count,
        targets=len(plan.machines) - size,
        low=float(joined.nrmse[worst].min()),
        high=float(joined.nrmse[worst].max()),
        machines=_count(plan.machines, machines),
        applications=_count(plan.applications, applications),
        blamed=tuple(plan.applications[place] for place in order[:half]),
        worst_of_others=float(others.max()) if len(others) else float("nan"),
    )


def _count(names: tuple[str, ...], counts: np.ndarray) -> tuple[tuple[str, int], ...]:
    order = np.argsort(-counts, kind="stable")
    return tuple((names[place], int(counts[place])) for place in order if counts[place])
