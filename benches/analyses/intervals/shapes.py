"""Shapes of distributions by name, with their means and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True, slots=True)
class Shape:
    """How n values are drawn, all above zero on average; their mean, standard deviation and skewness."""

    draw: Draw
    mean: float
    sd: float
    skewness: float = 0.0


def _make_log_normal(sigma: float) -> Shape:
    grown = math.expm1(sigma**2)
    mean = math.exp(sigma**2 / 2)
    return Shape(
        lambda rng, n: rng.lognormal(0, sigma, n),
        mean,
        mean * math.sqrt(grown),
        (grown + 3) * math.sqrt(grown),
    )


def _make_pareto(index: float) -> Shape:
    mean = index / (index - 1)
    sd = math.sqrt(index / (index - 2)) / (index - 1) if index > 2 else math.inf
    return Shape(lambda rng, n: (1 - rng.random(n)) ** (-1 / index), mean, sd)


def _make_modes(share: float) -> Shape:
    sd = math.sqrt(0.05**2 + share * (1 - share))
    return Shape(
        lambda rng, n: rng.normal(1, 0.05, n) + (rng.random(n) < share),
        1 + share,
        sd,
        share * (1 - share) * (1 - 2 * share) / sd**3,
    )


SHAPES = {
    "normal": Shape(lambda rng, n: rng.normal(10, 1, n), 10.0, 1.0),
    "log-normal 0.5": _make_log_normal(0.5),
    "log-normal 1": _make_log_normal(1.0),
    "exponential": Shape(lambda rng, n: rng.standard_exponential(n), 1.0, 1.0, 2.0),
    "Pareto 2.5": _make_pareto(2.5),
    "Pareto 1.5": _make_pareto(1.5),
    "two modes, 0.3": _make_modes(0.3),
    "two modes, 0.1": _make_modes(0.1),
    "Poisson 2": Shape(lambda rng, n: rng.poisson(2.0, n).astype(float), 2.0, math.sqrt(2), 0.5**0.5),
}
