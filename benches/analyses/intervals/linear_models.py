"""`anova` and what `run` says: effects, means by level, changes between levels, comparisons of packages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.contrasts.blocks import fit_blocks
from datamill.analysis.levels.level_changes import find_largest_changes
from datamill.analysis.levels.level_means import estimate_level_means, include_spread_of_blocks
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate
from intervals.row import Outcome, Row, holds
from intervals.shapes import SHAPES

PACKAGE, FLAG = ModelFactor("package", ("first", "second")), ModelFactor("flag", ("-O0", "-O2", "-O3"))
EFFECTS = np.array([-6.0, 2.0, 4.0])
MEAN, CHANGE, SLOPE = 100.0, 5.0, 3.0


def _lay_out(replicates: int) -> np.ndarray:
    axes = np.meshgrid(range(2), range(3), range(replicates), indexing="ij")
    return np.stack([axis.ravel() for axis in axes[:2]], axis=1)


def _draw(rng: np.random.Generator, kind: str, codes: np.ndarray, wide: float) -> np.ndarray:
    """Noise of standard deviation 2, of the second package `wide` times as much."""
    shape = SHAPES[kind]
    noise = 2 * (shape.draw(rng, len(codes)) - shape.mean) / shape.sd
    return np.asarray(noise * np.where(codes[:, 0] == 1, wide, 1.0))


def _truth(codes: np.ndarray) -> np.ndarray:
    return np.asarray(MEAN + CHANGE * (codes[:, 0] - 0.5) + EFFECTS[codes[:, 1]])


def _describe(kind: str, wide: float) -> str:
    return kind + (f", second package {wide:g} times as wide" if wide != 1 else "")


def _fit(kind: str, replicates: int, wide: float, lost: int = 0) -> Row:
    """Classical model: half-changes and deviations of levels, with the pooled error."""
    codes = _lay_out(replicates)

    def repeat(rng: np.random.Generator) -> Outcome:
        kept = np.sort(rng.permutation(len(codes))[lost:])
        own = codes[kept]
        x = rng.uniform(-1, 1, len(own))
        values = _truth(own) + SLOPE * x + _draw(rng, kind, own, wide)
        cells = gather_cells([PACKAGE, FLAG], own, values)
        terms = list_formula_terms([PACKAGE, FLAG], ["x"], [("package",), ("flag",), ("x",)])
        model = fit_linear_model(cells, terms=terms, covariates=[Covariate("x", x)])
        warned = bool(check_assumptions(cells, model, covariates=[Covariate("x", x)]).warnings)
        found = {item.name: item.value for item in model.coefficients}
        flag = next(row for row in model.terms if row.term.name == "flag").effects[0].value
        return {
            "effect of two levels": (holds(found["package"], CHANGE / 2), warned),
            "effect of one of three": (holds(flag, float(EFFECTS[0])), warned),
            "slope": (holds(found["x"], SLOPE), warned),
        }

    n = f"{len(codes) - lost}" + (f" of {len(codes)}" if lost else "")
    return Row("anova", "coefficients", _describe(kind, wide), n, repeat)


def _compare_levels(kind: str, replicates: int, wide: float) -> Row:
    """Means by level and changes between them, each cell with its own variance."""
    codes = _lay_out(replicates)

    def repeat(rng: np.random.Generator) -> Outcome:
        cells = gather_cells([PACKAGE, FLAG], codes, _truth(codes) + _draw(rng, kind, codes, wide))
        warned = bool(check_assumptions(cells, fit_linear_model(cells, order=2)).warnings)
        means = estimate_level_means(cells, factor=1, group_factor=None)
        options = {"direction": "lower", "confidence": 0.95, "alpha": 0.05}
        two = find_largest_changes(cells, factor=0, group_factor=None, **options)[0]  # type: ignore[arg-type]
        three = find_largest_changes(cells, factor=1, group_factor=None, **options)[0]  # type: ignore[arg-type]
        low, high = MEAN - CHANGE / 2, MEAN + CHANGE / 2
        ratio = high / low if two.pair.package == "second" else low / high
        sign = 1 if two.pair.package == "second" else -1
        at = {level: MEAN + EFFECTS[code] for code, level in enumerate(FLAG.levels)}
        gap = at[three.pair.package] - at[three.pair.baseline]
        percent = 100 * EFFECTS[0] / MEAN
        return {
            "mean of a level": (holds(means[0].value, MEAN + float(EFFECTS[0])), warned),
            "departure in percent": (means[0].percent is None or holds(means[0].percent, percent), warned),
            "change, difference": (holds(two.pair.difference, sign * CHANGE), warned),
            "change, ratio": (holds(two.pair.ratio, ratio), warned),
            "largest of three changes": (holds(three.pair.difference, float(gap)), warned),
        }

    return Row("anova", "level by level (Welch)", _describe(kind, wide), f"{len(codes)}", repeat)


def _compare_packages(kind: str, replicates: int, wide: float) -> Row:
    """The comparison of packages, each design point with its own variance."""
    codes = _lay_out(replicates)

    def repeat(rng: np.random.Generator) -> Outcome:
        values = _truth(codes) + _draw(rng, kind, codes, wide)
        cells = gather_cells([PACKAGE, FLAG], codes, values)
        found = compare_packages(cells, factor=0, baseline="first", direction="lower", alpha=0.05)
        warned = bool(check_assumptions(cells, fit_linear_model(cells, order=1)).warnings)
        pair = found.pairs[0]
        ratio = (MEAN + CHANGE / 2) / (MEAN - CHANGE / 2)
        return {
            "mean of a package": (holds(found.means[1].value, MEAN + CHANGE / 2), warned),
            "difference": (holds(pair.difference, CHANGE), warned),
            "ratio": (holds(pair.ratio, ratio), warned),
        }

    return Row("run", "packages (Welch)", _describe(kind, wide), f"{len(codes)}", repeat)


def _compare_within_blocks(kind: str, blocks: int) -> Row:
    """Packages within blocks, each of which has every level once; blocks differ by twice the noise."""
    codes = np.tile(_lay_out(1), (blocks, 1))
    block = np.repeat(np.arange(blocks), 6)

    def repeat(rng: np.random.Generator) -> Outcome:
        values = _truth(codes) + 4 * rng.standard_normal(blocks)[block] + _draw(rng, kind, codes, 1.0)
        cells = gather_cells([PACKAGE, FLAG], codes, values)
        within = fit_blocks(cells, block, tuple(map(str, range(blocks))))
        found = compare_packages(
            cells, factor=0, baseline="first", direction="lower", alpha=0.05, blocks=within
        )
        names = tuple(map(str, range(blocks)))
        whole = gather_cells(
            [PACKAGE, FLAG, ModelFactor("day", names)], np.column_stack([codes, block]), values
        )
        means = estimate_level_means(cells, factor=0, group_factor=None, blocks=within)
        wide = include_spread_of_blocks(
            whole, means, factor=0, group_factor=None, blocks=[2], confidence=0.95
        )
        # Ratios are those at the average of these blocks, differences of any.
        return {
            "difference": (holds(found.pairs[0].difference, CHANGE), False),
            "mean of a level, any day": (holds(wide[0].value, MEAN - CHANGE / 2), False),
        }

    return Row("run", "packages within blocks", kind, f"{len(codes)} in {blocks} blocks", repeat)


def list_rows() -> Iterator[Row]:
    """All rows of `anova` and of the comparison of packages."""
    kinds = ("normal", "log-normal 0.5", "log-normal 1", "exponential", "two modes, 0.3")
    for replicates in (3, 10):
        for kind in kinds:
            yield _fit(kind, replicates, 1.0)
            yield _compare_levels(kind, replicates, 1.0)
            yield _compare_packages(kind, replicates, 1.0)
        yield _fit("normal", replicates, 8.0)
        yield _compare_levels("normal", replicates, 8.0)
        yield _compare_packages("normal", replicates, 8.0)
        yield _fit("normal", replicates, 1.0, lost=replicates)
    for blocks in (2, 5, 10):
        for kind in ("normal", "log-normal 1"):
            yield _compare_within_blocks(kind, blocks)
