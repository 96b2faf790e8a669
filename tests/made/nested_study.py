"""Made-up studies of builds, executions and measurements, as the report receives them."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.experiment.experiment import (
    Constraints,
    Experiment,
    FactorChoice,
    Limits,
    Package,
    Replication,
    Response,
)
from datamill.results.bundles.trial_summary import Machine, TrialSummary

Study = tuple[Experiment, Design, pl.DataFrame, TrialSummary]


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
    packages = ("old", "new")
    levels = aslr or ("on",)
    of_build = {
        (package, build): spreads[0] * rng.standard_normal()
        for package in packages
        for build in range(builds)
    }
    rows, planned = [], []
    for point, (package, level) in enumerate(product(packages, levels), start=1):
        for build, execution in product(range(builds), range(executions)):
            trial = f"t{len(planned) + 1:05d}"
            chosen = {"package": package} | ({"aslr": level} if aslr else {})
            replicate = build * executions + execution + 1
            planned.append(
                PlannedTrial(
                    trial, len(planned) + 1, point, replicate, package, chosen, "b", 1,
                    build=build + 1, execution=execution + 1, build_seed=build, measurements=measurements,
                )
            )  # fmt: skip
            mean = (
                100.0 + change * (package == "new") + aslr_effect * (level == levels[-1]) * (len(levels) > 1)
            )
            mean += of_build[package, build] + spreads[1] * rng.standard_normal()
            for measurement in range(measurements):
                rows.append(
                    {
                        **chosen,
                        "experiment": "nested",
                        "trial_id": trial,
                        "attempt": 1,
                        "point": point,
                        "build": build + 1,
                        "execution": execution + 1,
                        "build_id": f"{package}-{build}",
                        "purpose": "question",
                        "worker": "lab",
                        "outcome": "completed",
                        "response": "latency",
                        "unit": "ms",
                        "measurement": measurement,
                        "value": mean + spreads[2] * rng.standard_normal(),
                        "valid": True,
                        "exclusion": None,
                        "doubt": None,
                    }
                )
    experiment = Experiment(
        name="nested",
        question="Is new faster than old?",
        replicates=builds * executions,
        seed=1,
        packages=tuple(Package(name, name) for name in packages),
        constraints=Constraints(),
        factors=(FactorChoice("aslr", aslr),) if aslr else (),
        responses=(Response("latency", "ms", "latency", "lower"),),
        limits=Limits(),
        build="shared",
        replication=Replication(builds, executions, measurements),
    )
    factors = [DesignFactor("package", packages, 2, build=True)]
    if aslr:
        factors.append(DesignFactor("aslr", aslr, len(aslr), build=False))
    design = Design("full factorial", 1, builds * executions, tuple(factors), tuple(planned))
    table = pl.DataFrame(
        rows, infer_schema_length=None, schema_overrides={"exclusion": pl.String, "doubt": pl.String}
    )
    machine = Machine("lab", "x86_64", "Some CPU", 2, 1 << 30, "6.1")
    count = len(planned)
    summary = TrialSummary(
        count, count, 0, 0, 0, 0, (machine,), "overlay", "", builds_shared=True, builds_repeated=builds > 1
    )
    return experiment, design, table, summary
