"""Made-up studies of builds, executions and measurements, as the report receives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from made.planted_study import Row, Study, ask_question, build_study

from datamill.design.design import DesignFactor, PlannedTrial
from datamill.experiment.experiment import Replication, Response

PACKAGES = ("old", "new")


def make_nested_study(
    *,
    shape: tuple[int, int, int] = (8, 3, 4),
    change: float = 0.0,
    aslr: tuple[str, ...] = (),
    aslr_effect: float = 0.0,
    spreads: tuple[float, float, float] = (2.0, 0.5, 1.0),
    seed: int = 1,
) -> Study:
    """Packages `old`, with 100 ms, and `new`, slower by `change`, in builds × executions × measurements.

    `spreads` are the standard deviations of builds, executions and measurements. All levels of `aslr` measure
    the same builds; the second is slower by `aslr_effect`.
    """
    rng = np.random.default_rng(seed)
    builds, executions, measurements = shape
    of_build = {key: spreads[0] * rng.standard_normal() for key in product(PACKAGES, range(1, builds + 1))}
    levels = {"package": PACKAGES} | ({"aslr": aslr} if aslr else {})
    points = [dict(zip(levels, point, strict=True)) for point in product(*levels.values())]
    nested = list(product(range(1, builds + 1), range(1, executions + 1)))
    planned = product(enumerate(points, start=1), enumerate(nested, start=1))
    trials = [
        PlannedTrial(
            f"t{number:05d}", number, place, replicate, point["package"], point, "b", 1,
            build=build, execution=execution, build_seed=build - 1, measurements=measurements,
        )
        for number, ((place, point), (replicate, (build, execution))) in enumerate(planned, start=1)
    ]  # fmt: skip

    def observe(trial: PlannedTrial) -> Iterator[Row]:
        is_last = len(aslr) > 1 and trial.levels["aslr"] == aslr[-1]
        mean = 100.0 + change * (trial.package == "new") + aslr_effect * is_last
        mean += of_build[trial.package, trial.build] + spreads[1] * rng.standard_normal()
        for measurement in range(measurements):
            yield {
                "experiment": "nested",
                "attempt": 1,
                "point": trial.point,
                "build": trial.build,
                "execution": trial.execution,
                "build_id": f"{trial.package}-{trial.build - 1}",
                "purpose": "question",
                "outcome": "completed",
                "response": "latency",
                "unit": "ms",
                "measurement": measurement,
                "value": mean + spreads[2] * rng.standard_normal(),
            }

    responses = [Response("latency", "ms", "latency", "lower")]
    experiment = replace(
        ask_question(levels, responses, replicates=builds * executions),
        name="nested",
        question="Is new faster than old?",
        build="shared",
        replication=Replication(builds, executions, measurements),
    )
    factors = [
        DesignFactor(name, given, len(given), build=name == "package") for name, given in levels.items()
    ]
    experiment, design, table, summary = build_study(experiment, factors, trials, observe)
    return experiment, design, table, replace(summary, builds_shared=True, builds_repeated=builds > 1)
