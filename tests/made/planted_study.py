"""Made-up studies whose truth is known, as the report receives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
Levels = Mapping[str, tuple[str, ...]]
#: An observation: its `value`, None where the trial failed, and whatever is not as `build_study` has it.
Row = Mapping[str, object]
#: The machine of a study that says nothing of it.
_MACHINE = Machine("lab", "x86_64", "Some CPU", 2, 1 << 30, "6.1")


def ask_question(levels: Levels, responses: Sequence[Response], *, replicates: int) -> Experiment:
    """The experiment over `levels`, the package among them, of which nothing else is special."""
    return Experiment(
        name="planted",
        question="Which is faster?",
        replicates=replicates,
        seed=1,
        packages=tuple(Package(name, name) for name in levels["package"]),
        constraints=Constraints(),
        factors=tuple(FactorChoice(name, given) for name, given in levels.items() if name != "package"),
        responses=tuple(responses),
        limits=Limits(),
    )


def build_study(
    experiment: Experiment,
    factors: Iterable[DesignFactor],
    trials: Sequence[PlannedTrial],
    observe: Callable[[PlannedTrial], Iterable[Row]],
    *,
    machine: Machine = _MACHINE,
) -> Study:
    """The study of these trials in their order, on one machine.

    `observe` gives the observations of a trial: none where it was not made, no value where it failed.
    """
    rows: list[dict[str, object]] = []
    for trial in trials:
        usual = {**trial.levels, "trial_id": trial.trial_id, "worker": machine.worker}
        for row in observe(trial):
            fine = row["value"] is not None
            judged = {"valid": fine, "exclusion": None if fine else "trial failed", "doubt": None}
            rows.append({**usual, **judged, **row})
    table = pl.DataFrame(
        rows,
        infer_schema_length=None,
        schema_overrides={"value": pl.Float64, "exclusion": pl.String, "doubt": pl.String},
    )
    design = Design("full_factorial", experiment.seed, experiment.replicates, tuple(factors), tuple(trials))
    completed = table.filter(pl.col("value").is_not_null())["trial_id"].n_unique()
    failed = table["trial_id"].n_unique() - completed
    summary = TrialSummary(
        len(trials), completed, failed, 0, 0, 0, (machine,), "overlay", "", builds_shared=False
    )
    return experiment, design, table, summary


def plan_study(
    levels: Levels,
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
    points = [dict(zip(levels, point, strict=True)) for point in product(*levels.values())]
    trials = [
        PlannedTrial(f"t{number:04d}", number + 1, 0, replicate, point["package"], point, "b", 1)
        for number, (point, replicate) in enumerate(product(points, range(replicates)))
    ]

    def observe(trial: PlannedTrial) -> Iterable[Row]:
        if keep(trial.levels, trial.replicate):
            yield {"response": "time", "unit": unit, "value": value(rng, trial.levels)}

    experiment = ask_question(levels, [Response("time", unit, "t", direction)], replicates=replicates)
    others = [(name, given) for name, given in levels.items() if name != "package"]
    compared = [("package", levels["package"])] if len(levels["package"]) > 1 else []
    factors = [DesignFactor(name, given, len(given), build=False) for name, given in (*others, *compared)]
    return build_study(experiment, factors, trials, observe)
