"""Made-up studies whose truth is known, as the report receives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import polars as pl

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.experiment.experiment import (
    Constraints,
    Direction,
    Experiment,
    FactorChoice,
    Limits,
    Package,
    Response,
)
from datamill.results.bundles.trial_summary import Machine, TrialSummary

Study = tuple[Experiment, Design, pl.DataFrame, TrialSummary]
Point = Mapping[str, str]


def plan_study(
    levels: Mapping[str, tuple[str, ...]],
    value: Callable[[np.random.Generator, Point], float | None],
    *,
    replicates: int = 3,
    direction: Direction = "lower",
    unit: str = "s",
    seed: int = 1,
    keep: Callable[[Point, int], bool] = lambda _point, _replicate: True,
) -> Study:
    """A full factorial of `levels`, the package among them; a value of None is a trial that failed."""
    rng = np.random.default_rng(seed)
    rows, planned = [], []
    for number, (point, replicate) in enumerate(product(product(*levels.values()), range(replicates))):
        chosen = dict(zip(levels, point, strict=True))
        trial = f"t{number:04d}"
        planned.append(PlannedTrial(trial, number + 1, 0, replicate, chosen["package"], chosen, "b", 1))
        if not keep(chosen, replicate):
            continue
        observed = value(rng, chosen)
        rows.append(
            {
                **chosen,
                "trial_id": trial,
                "worker": "lab",
                "response": "time",
                "unit": unit,
                "value": observed,
                "valid": observed is not None,
                "exclusion": None if observed is not None else "trial failed",
                "doubt": None,
            }
        )
    others = {name: given for name, given in levels.items() if name != "package"}
    experiment = Experiment(
        name="planted",
        question="Which is faster?",
        replicates=replicates,
        seed=1,
        packages=tuple(Package(name, name) for name in levels["package"]),
        constraints=Constraints(),
        factors=tuple(FactorChoice(name, given) for name, given in others.items()),
        responses=(Response("time", unit, "t", direction),),
        limits=Limits(),
    )
    factors = {**others, "package": levels["package"]} if len(levels["package"]) > 1 else others
    design = Design(
        "full_factorial",
        1,
        replicates,
        tuple(DesignFactor(name, given, len(given), build=False) for name, given in factors.items()),
        tuple(planned),
    )
    table = pl.DataFrame(
        rows, infer_schema_length=None, schema_overrides={"value": pl.Float64, "doubt": pl.String}
    )
    ended = table.height
    machine = Machine("lab", "x86_64", "Some CPU", 2, 1 << 30, "6.1")
    return (
        experiment,
        design,
        table,
        TrialSummary(len(planned), ended, 0, 0, 0, 0, (machine,), "overlay", "", builds_shared=False),
    )
