"""`variability` and `summary`: coefficients of variation, skewness, ratios of them; medians and means."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from datamill.analysis.distribution.summary import summarize_distributions
from datamill.analysis.distribution.variability import Assumption, measure_variability
from datamill.analysis.distribution.variability_comparison import compare_variability
from datamill.analysis.distribution.windows import analyze_windows
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells
from datamill.analysis.model_data.observations import Covariate, Observations
from intervals.row import Outcome, Row, holds
from intervals.shapes import SHAPES

KINDS = (
    "normal",
    "log-normal 0.5",
    "log-normal 1",
    "exponential",
    "two modes, 0.3",
    "two modes, 0.1",
    "Poisson 2",
)
MEDIANS = {
    "normal": 10.0,
    "log-normal 0.5": 1.0,
    "log-normal 1": 1.0,
    "exponential": math.log(2),
    "Poisson 2": 2.0,
}


def _gather(values: np.ndarray) -> Cells:
    return gather_cells([ModelFactor("point", ("only",))], [np.zeros(values.size, dtype=np.int64)], values)


def _vary(kind: str, n: int, assumption: Assumption) -> Row:
    shape = SHAPES[kind]

    def repeat(rng: np.random.Generator) -> Outcome:
        found = measure_variability(_gather(shape.draw(rng, n)), assumption=assumption, seed=1)
        point, warned = found.points[0], bool(found.warnings)
        held = {}
        if point.cv is not None:
            held["coefficient of variation"] = holds(point.cv, shape.sd / shape.mean), warned
        if point.skewness_interval is not None and assumption == "nothing":
            held["skewness G1"] = holds(point.skewness_interval, shape.skewness), warned
        return held

    return Row("variability", assumption, kind, f"{n}", repeat)


def _compare(kind: str, points: int, n: int) -> Row:
    """Two levels of so many design points each; the second varies twice as much."""
    shape = SHAPES[kind]
    factors = [ModelFactor("level", ("low", "high")), ModelFactor("point", tuple(map(str, range(points))))]
    codes = np.stack([axis.ravel() for axis in np.meshgrid(range(2), range(points), range(n), indexing="ij")])

    def repeat(rng: np.random.Generator) -> Outcome:
        noise = 0.1 * (shape.draw(rng, codes.shape[1]) - shape.mean) / shape.sd
        values = 10 + codes[1] + (10 + codes[1]) * np.where(codes[0] == 1, 2.0, 1.0) * noise
        found = compare_variability(
            measure_variability(gather_cells(factors, codes[:2].T, values), assumption="normal")
        )
        pair = next(item for item in found if item.factor == "level").pairs[0]
        return {
            item.name: (holds(item.value, 2.0), False) for item in pair.test.estimates if "ratio" in item.name
        }

    return Row("variability", "levels (Mann-Whitney)", kind, f"2 × {points} points of {n}", repeat)


def _summarize(kind: str, n: int) -> Row:
    shape = SHAPES[kind]

    def repeat(rng: np.random.Generator) -> Outcome:
        found = summarize_distributions(Observations("y", "", _gather(shape.draw(rng, n)), 0, 0))
        group, warned = found.groups[0], any("skewed" in text for text in found.warnings)
        held = {"mean": (holds(group.mean_interval, shape.mean), warned)}
        if kind in MEDIANS:
            held["median"] = holds(group.median_interval, MEDIANS[kind]), False
        return held

    return Row("summary", "Student; ranks", kind, f"{n}", repeat)


def _correlate(windows: int) -> Row:
    """Spread grows with the count: what correlation that is, two thousand windows say."""

    def draw(rng: np.random.Generator, count: int) -> Observations:
        events = rng.integers(0, 10, count)
        noise = rng.standard_normal(20 * count) * np.repeat(1 + 0.05 * events, 20)
        order = np.arange(20 * count, dtype=np.float64)
        counts = np.repeat(events, 20).astype(np.float64)
        return Observations(
            "y", "", _gather(100 + noise), 0, 0, covariates=(Covariate("events", counts),), order=order
        )

    truth: list[float] = []

    def repeat(rng: np.random.Generator) -> Outcome:
        if not truth:
            many = analyze_windows(draw(np.random.default_rng(97), 20_000), 20).associations[0].correlation
            assert many is not None
            truth.append(many.estimate)
        found = analyze_windows(draw(rng, windows), 20).associations[0].correlation
        return {} if found is None else {"correlation with the count": (holds(found, truth[0]), windows < 10)}

    return Row("variability", "windows (Spearman)", "normal", f"{windows} windows", repeat)


def list_rows() -> Iterator[Row]:
    """All rows of `variability` and `summary`."""
    for kind in KINDS:
        for n in (10, 30, 100):
            yield _vary(kind, n, "nothing")
            yield _summarize(kind, n)
    for n in (5, 10, 30):
        yield _vary("normal", n, "normal")
    for kind in ("normal", "log-normal 0.5", "exponential"):
        for points in (4, 8):
            yield _compare(kind, points, 10)
    for windows in (8, 20, 60):
        yield _correlate(windows)
