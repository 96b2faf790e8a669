"""The verbs of the Python API, for what must hold of each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import datamill

#: Verbs that describe or compare levels of factors.
FACTOR_VERBS: tuple[Callable[..., Any], ...] = (
    datamill.summary,
    datamill.anova,
    datamill.tests,
    datamill.variability,
    datamill.quantiles,
)
#: These, and those on versions.
VERBS = (*FACTOR_VERBS, datamill.variance, datamill.compare)


def make_levels() -> pl.DataFrame:
    """Two levels of a factor `f`, 24 values of `y` each, the second larger by 2."""
    rng = np.random.default_rng(3)
    levels = np.repeat(["a", "b"], 24)
    return pl.DataFrame({"f": levels, "y": rng.normal(10, 1, 48) + 2 * (levels == "b")})


def make_versions() -> pl.DataFrame:
    """Two versions that do not differ, each of six builds of three executions."""
    rng = np.random.default_rng(4)
    rows = [
        (version, f"b{build}", execution, 10 + rng.normal())
        for version in ("old", "new")
        for build in range(6)
        for execution in range(3)
    ]
    return pl.DataFrame(rows, schema=["version", "build", "execution", "value"], orient="row")
