"""Suites and applications that tests make: a few hidden traits of machines, and something of each its own."""

from __future__ import annotations

import numpy as np

from datamill.platforms.scores.score_matrix import ApplicationTimes, FloatArray, ScoreMatrix


def make_logs(
    machines: int, benchmarks: int, seed: int, *, factors: int = 3, own: float = 0.03, spread: float = 0.25
) -> FloatArray:
    """Logarithms of times (machines × benchmarks): speed, factors that benchmarks load on, and noise."""
    random = np.random.default_rng(seed)
    speed = random.normal(0, 0.5, machines)
    parts = random.normal(0, spread, (machines, factors)) @ random.normal(
        0, 1 / np.sqrt(factors), (factors, benchmarks)
    )
    level = random.normal(5, 1, benchmarks)
    return speed[:, None] + level + parts + random.normal(0, own, (machines, benchmarks))


def split_suite(
    logs: FloatArray, application: int, trained: int
) -> tuple[ScoreMatrix, ApplicationTimes, FloatArray]:
    """A suite without one benchmark; that benchmark as the application on the first machines; the truth."""
    machines = tuple(f"m{row}" for row in range(len(logs)))
    columns = [column for column in range(logs.shape[1]) if column != application]
    seconds = np.exp(logs[:, columns])
    matrix = ScoreMatrix(
        machines, tuple(f"b{column}" for column in columns), seconds, np.full(seconds.shape, np.nan)
    )
    times = np.exp(logs[:, application])
    measured = ApplicationTimes(
        f"b{application}", machines[:trained], times[:trained], np.full(trained, np.nan)
    )
    return matrix, measured, times


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
