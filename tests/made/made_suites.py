"""Suites that tests make themselves: machines with hidden traits, which benchmarks weigh differently."""

from __future__ import annotations

import numpy as np

from datamill.platforms.scores.score_matrix import ScoreMatrix


def make_suite(machines: int = 8, benchmarks: int = 7, *, seed: int = 1, noise: float = 0.03) -> ScoreMatrix:
    """A suite without gaps, in seconds; the clock of each machine is known."""
    draw = np.random.default_rng(seed)
    traits = draw.normal(0, 0.35, (machines, 3))
    weights = draw.dirichlet((2, 1, 1), benchmarks)
    logarithms = 5 + draw.normal(0, 0.6, benchmarks) - traits @ weights.T
    seconds = np.exp(logarithms + draw.normal(0, noise, (machines, benchmarks)))
    return ScoreMatrix(
        machines=tuple(f"m{place}" for place in range(machines)),
        benchmarks=tuple(f"b{place}" for place in range(benchmarks)),
        seconds=seconds,
        noise=np.full(seconds.shape, np.nan),
        facts={"clock_mhz": 2000 * np.exp(traits[:, 0])},
    )
