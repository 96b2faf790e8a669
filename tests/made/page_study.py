"""A made-up study for whatever needs a page of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from made.planted_study import Row, Study, ask_question, build_study

from datamill.design.design import DesignFactor, PlannedTrial
from datamill.experiment.experiment import Response
from datamill.results.bundles.trial_summary import Machine

LEVELS = {"package": ("xz", "bzip2"), "optimization": ("-O0", "-O1", "-O2"), "aslr": ("on", "off")}
RESPONSES = (Response("rate", "B/s", "bytes / t", "higher"), Response("time", "s", "t", "lower"))
#: The trial that fails.
FAILED = "t007"


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
    points = [dict(zip(levels, point, strict=True)) for point in product(*levels.values())]
    trials = [
        PlannedTrial(f"t{index:03d}", index + 1, 0, replicate, point["package"], point, "b", 1)
        for index, (replicate, point) in enumerate(product(range(replicates), points))
    ]

    def observe(trial: PlannedTrial) -> Iterator[Row]:
        if rng.random() > keep:
            return
        is_xz = trial.package == "xz"
        base = 2e6 * (0.6 if trial.levels["optimization"] == "-O0" else 1.0) if is_xz else 2e6 * ratio
        fine = trial.trial_id != FAILED
        doubtful = disturbed > 0 and not is_xz and trial.replicate == 0
        base *= disturbed if doubtful else 1
        for measurement in range(measurements):
            rate = base * (1 + 0.01 * rng.standard_normal())
            if heavy and rng.random() < 0.1:
                rate /= 1.2 + rng.pareto(1.5)
            for response, value in zip(RESPONSES, (rate, 4e6 / rate), strict=True):
                yield {
                    "outcome": "completed" if fine else "failed",
                    "response": response.name,
                    "unit": response.unit,
                    "measurement": measurement,
                    "value": float(value) if fine else None,
                    "exclusion": None if fine else "trial failed: run.sh ended with status 3",
                    "doubt": "steal: the hypervisor took 90 ms of processor time" if doubtful else None,
                }

    experiment = replace(
        ask_question(levels, RESPONSES, replicates=replicates),
        name="xz-vs-bzip2",
        question="Which compressor removes more bytes per second?",
        seed=42,
    )
    factors = [
        DesignFactor(name, given, len(given), build=name == "optimization")
        for name, given in levels.items()
        if len(given) > 1
    ]
    machine = Machine("lab", "x86_64", "Some CPU", 4, 8 << 30, "6.1")
    experiment, design, table, summary = build_study(experiment, factors, trials, observe, machine=machine)
    warnings = ("factor aslr was not effective for package bzip2",)
    return experiment, design, table, replace(summary, isolation_kind="confined", warnings=warnings)
