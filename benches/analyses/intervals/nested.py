"""`variance` and `compare`: means of builds, shares of uncertainty, differences and ratios of versions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from datamill.analysis.random_effects.impact import estimate_impact
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.variance import VarianceMethod, estimate_variances
from datamill.analysis.versions.compare import compare_versions
from intervals.row import Outcome, Row, holds
from intervals.shapes import SHAPES

#: Standard deviations of builds, executions and measurements, and how many of the last two there are.
SPREADS, EXECUTIONS, MEASUREMENTS = (1.0, 1.0, 3.0), 3, 4
MEAN = 100.0


def _draw(
    rng: np.random.Generator, kind: str, builds: int, *, name: str = "v", mean: float = MEAN,
    keep: float = 1.0, size: float = 1.0, shared: np.ndarray | None = None,
) -> NestedValues:  # fmt: skip
    """A version whose builds have the shape `kind`, standardised where possible; the rest is normal."""
    shape = SHAPES[kind]
    scale = shape.sd if math.isfinite(shape.sd) else 1.0
    own = size * SPREADS[0] * (shape.draw(rng, builds) - shape.mean) / scale
    values = (
        np.full((builds, EXECUTIONS, MEASUREMENTS), mean) + (own if shared is None else shared)[:, None, None]
    )
    values += SPREADS[1] * rng.standard_normal((builds, EXECUTIONS, 1)) / 3
    values += SPREADS[2] * rng.standard_normal(values.shape) / 3
    kept = rng.random(values.shape) < keep
    kept[:, 0, 0] = True
    of_execution = kept.sum(axis=2)
    present = of_execution > 0
    return NestedValues(
        version=name,
        response="time",
        unit="s",
        values=values[kept],
        executions=np.append(0, np.cumsum(of_execution[present])),
        builds=np.append(0, np.cumsum(present.sum(axis=1))),
        build_names=tuple(str(at) for at in range(builds)) if shared is not None else (),
    )


def _estimate(kind: str, builds: int, method: VarianceMethod, keep: float) -> Row:
    def repeat(rng: np.random.Generator) -> Outcome:
        found = estimate_variances(_draw(rng, kind, builds, keep=keep), 0.95, method=method)
        warned = any("presume" in text for text in found.warnings)
        return {"mean": (holds(found.mean, MEAN), warned)}

    data = kind + (", 40% of measurements kept" if keep < 1 else "")
    return Row("variance", method, data, f"{builds} builds", repeat)


def _share(kind: str, builds: int) -> Row:
    squares = SPREADS[0] ** 2, SPREADS[1] ** 2 / 9, SPREADS[2] ** 2 / 9
    uncertain = np.array([squares[0], squares[1] / EXECUTIONS, squares[2] / EXECUTIONS / MEASUREMENTS])
    variation = np.array(squares) / sum(squares)
    uncertain /= uncertain.sum()
    # Means of executions from different builds over those of one build.
    within = squares[1] + squares[2] / MEASUREMENTS
    factor = math.sqrt((squares[0] + within) / within)

    def repeat(rng: np.random.Generator) -> Outcome:
        nested, seed = _draw(rng, kind, builds), int(rng.integers(1 << 30))
        found = estimate_variances(nested, 0.95, seed=seed)
        impact = estimate_impact(nested, 0.95, seed=seed)
        warned = any("presume" in text for text in found.warnings)
        held: dict[str, tuple[bool, bool]] = {}
        for title, shares, truths in (
            ("uncertainty", found.uncertainty, uncertain), ("variation", found.variation, variation),
        ):  # fmt: skip
            for share, truth in zip(shares, truths, strict=True):
                held[f"share of {share.level}s in the {title}"] = holds(share, float(truth)), warned
        held["impact factor, pivots"] = holds(impact.factor, factor), warned
        return held

    return Row("variance", "shares", kind, f"{builds} builds", repeat)


def _compare(
    kind: str, other: str, builds: tuple[int, int], *, size: float = 1.0, versions: int = 2,
    common: bool = False,
) -> Row:  # fmt: skip
    ratio = 1.02

    def repeat(rng: np.random.Generator) -> Outcome:
        shared = rng.standard_normal(builds[0]) * 3 if common else None
        drawn = [_draw(rng, kind, builds[0], name="base", shared=shared)]
        drawn += [
            _draw(rng, other, builds[1], name=str(at), mean=MEAN * ratio, size=size, shared=shared)
            for at in range(versions - 1)
        ]
        found = compare_versions(drawn)
        warned = any("skewed" in text or "presumes" in text for text in found.warnings)
        held = [holds(change.difference, MEAN * (ratio - 1)) for change in found.changes]
        ratios = [holds(change.ratio, ratio) for change in found.changes]
        return {"difference": (all(held), warned), "ratio": (all(ratios), warned)}

    data = kind if kind == other and size == 1 else f"{kind} against {other}"
    data += f", {size:g} times as wide" if size != 1 else ""
    data += ", builds in common" if common else ""
    data += f", {versions} versions together" if versions > 2 else ""
    return Row("compare", "Welch", data, f"{builds[0]}, {builds[1]} builds", repeat)


def list_rows() -> Iterator[Row]:
    """All rows of `variance` and `compare`."""
    for kind in ("normal", "log-normal 0.5", "log-normal 1", "exponential", "Pareto 2.5", "Pareto 1.5"):
        for builds in (5, 10, 20, 50):
            yield _estimate(kind, builds, "means", 1.0)
    for kind in ("two modes, 0.3", "two modes, 0.1"):
        for builds in (5, 10, 30):
            yield _estimate(kind, builds, "means", 1.0)
    for method in ("means", "reml"):
        for builds in (5, 10):
            yield _estimate("normal", builds, method, 0.4)  # type: ignore[arg-type]
    for kind in ("normal", "exponential"):
        for builds in (5, 10, 30):
            yield _share(kind, builds)
    for sizes in ((3, 3), (5, 5), (10, 10), (3, 20)):
        yield _compare("normal", "normal", sizes)
        yield _compare("normal", "normal", sizes, size=4.0)
    for kind in ("log-normal 1", "Pareto 1.5", "two modes, 0.1"):
        for builds in (5, 10, 30):
            yield _compare(kind, kind, (builds, builds))
            yield _compare("normal", kind, (builds, builds), size=3.0)
    for sizes in ((5, 5), (10, 10)):
        yield _compare("normal", "normal", sizes, common=True)
        yield _compare("normal", "normal", sizes, versions=4)
