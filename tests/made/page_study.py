"""A made-up study for whatever needs a page of one."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.experiment.experiment import Constraints, Experiment, FactorChoice, Limits, Package, Response
from datamill.results.bundles.trial_summary import Machine, TrialSummary

Study = tuple[Experiment, Design, pl.DataFrame, TrialSummary]
LEVELS = {"package": ("xz", "bzip2"), "optimization": ("-O0", "-O1", "-O2"), "aslr": ("on", "off")}


def make_study(
    *,
    ratio: float = 4.0,
    replicates: int = 3,
    keep: float = 1.0,
    packages: int = 2,
    measurements: int = 1,
    heavy: bool = False,
    disturbed: float = 0.0,
) -> Study:
    """A made-up study: bzip2 is `ratio` times as fast as xz, only xz gains from -O1; `heavy` has tails.

    The first replicates of bzip2 are doubtful and `disturbed` times as fast, unless that is 0.
    """
    rng = np.random.default_rng(5)
    levels = {**LEVELS, "package": LEVELS["package"][:packages]}
    rows, planned = [], []
    for index, (replicate, point) in enumerate(
        (r, p) for r in range(replicates) for p in product(*levels.values())
    ):
        chosen = dict(zip(levels, point, strict=True))
        trial = f"t{index:03d}"
        planned.append(PlannedTrial(trial, index + 1, 0, replicate, point[0], chosen, "b", 1))
        if rng.random() > keep:
            continue
        base = 2e6 * (0.6 if point[1] == "-O0" else 1.0) if point[0] == "xz" else 2e6 * ratio
        fine = index != 7
        doubtful = disturbed > 0 and point[0] == "bzip2" and replicate == 0
        base *= disturbed if doubtful else 1
        for measurement in range(measurements):
            rate = base * (1 + 0.01 * rng.standard_normal())
            if heavy and rng.random() < 0.1:
                rate /= 1.2 + rng.pareto(1.5)
            for name, unit, value in (("rate", "B/s", rate), ("time", "s", 4e6 / rate)):
                rows.append(
                    {
                        **chosen,
                        "trial_id": trial,
                        "worker": "lab",
                        "outcome": "completed" if fine else "failed",
                        "response": name,
                        "unit": unit,
                        "measurement": measurement,
                        "value": float(value) if fine else None,
                        "valid": fine,
                        "exclusion": None if fine else "trial failed: run.sh ended with status 3",
                        "doubt": "steal: the hypervisor took 90 ms of processor time" if doubtful else None,
                    }
                )
    experiment = Experiment(
        name="xz-vs-bzip2",
        question="Which compressor removes more bytes per second?",
        replicates=replicates,
        seed=42,
        packages=tuple(Package(name, name) for name in levels["package"]),
        constraints=Constraints(),
        factors=(FactorChoice("optimization", levels["optimization"]), FactorChoice("aslr", levels["aslr"])),
        responses=(Response("rate", "B/s", "bytes / t", "higher"), Response("time", "s", "t", "lower")),
        limits=Limits(),
    )
    factors = tuple(
        DesignFactor(name, given, len(given), build=name == "optimization")
        for name, given in levels.items()
        if len(given) > 1
    )
    design = Design("full_factorial", 42, replicates, factors, tuple(planned))
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"doubt": pl.String})
    ended = table["trial_id"].n_unique()
    machine = Machine("lab", "x86_64", "Some CPU", 4, 8 << 30, "6.1")
    summary = TrialSummary(
        planned=len(planned),
        completed=ended - 1,
        failed=1,
        timed_out=0,
        lost=0,
        excluded=0,
        machines=(machine,),
        isolation_kind="confined",
        isolation_reason="",
        builds_shared=False,
        warnings=("factor aslr was not effective for package bzip2",),
    )
    return experiment, design, table, summary
