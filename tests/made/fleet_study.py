"""A made-up study over machines that are very unlike, whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from made.planted_study import Point, Study, plan_study

#: Seconds of the same work on each machine.
SECONDS = {"atom": 40.0, "xeon": 4.0, "cortex": 12.0, "epyc": 3.7}


def make_fleet_study(
    ratios: Mapping[str, float] | float,
    *,
    seed: int,
    replicates: int = 6,
    noise: float = 0.02,
    aslr: float = 1.0,
    lost: float = 0.0,
) -> Study:
    """Packages a and b on four machines: b takes `ratios` times as long, one for all or one for each machine.

    `noise` is the coefficient of variation, twice that on the slowest machine; with `aslr` off everything
    takes `aslr` times as long; a share `lost` of trials has no value.
    """

    def observe(rng: np.random.Generator, point: Point) -> float | None:
        machine = point["machine"]
        seconds = SECONDS[machine] * (aslr if point["aslr"] == "off" else 1.0)
        if point["package"] == "b":
            seconds *= ratios if isinstance(ratios, float) else ratios[machine]
        spread = noise * (2 if machine == "atom" else 1)
        drawn = rng.normal(1.0, spread)
        return None if rng.random() < lost else float(seconds * drawn)

    levels = {"package": ("a", "b"), "aslr": ("on", "off"), "machine": tuple(SECONDS)}
    experiment, design, table, trials = plan_study(levels, observe, replicates=replicates, seed=seed)
    return experiment, design, table.with_columns(worker=pl.col("machine")), trials
