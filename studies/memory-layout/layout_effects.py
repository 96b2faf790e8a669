"""What an experiment on memory layout tells: effects as shares of the mean, and how much programs vary.

The methods are those of the thesis of 2015, section 5.1.1: a linear model for each benchmark, whose effects
are divided by the mean, and coefficients of variation of design points, compared between the levels of a
factor by Kruskal and Wallis's test.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import polars as pl
from study_tables import read_trials

import datamill
from datamill.verbs.variability import Variability

RESPONSE = "wall_time"
#: Factors of the study with their low and high level: an effect is half the change from low to high.
LEVELS = {
    "aslr": ("off", "on"),
    "env_padding": ("0", "10928"),
    "pie": ("off", "on"),
    "warmups": ("0", "2"),
    "drop_caches": ("none", "all"),
    "reboot": ("none", "before_trial"),
}


@dataclass(frozen=True)
class Effect:
    """An effect on one benchmark, in percent of its mean, with one standard error; p is not adjusted.

    `seconds` is the same effect in seconds. p is None where like trials are all equal.
    """

    benchmark: str
    term: str
    percent: float
    standard_error: float
    seconds: float
    p: float | None


@dataclass(frozen=True)
class Spread:
    """Variability of one benchmark at one design point: n trials, coefficient of variation as a fraction."""

    benchmark: str
    levels: tuple[str, ...]
    n: int
    cv: float


@dataclass(frozen=True)
class SpreadTest:
    """Coefficients of variation between the levels of a factor: medians in the order of `levels`.

    `p` is Kruskal and Wallis's over all design points, as in the thesis; `p_within` compares the levels
    within each benchmark, so that differences between benchmarks are not noise (None: no such test).
    """

    factor: str
    levels: tuple[str, ...]
    medians: tuple[float, ...]
    p: float | None
    p_within: float | None


@dataclass(frozen=True)
class Occasion:
    """One time at which the experiment was run: a bundle, or a table."""

    name: str
    factors: tuple[str, ...]
    trials: int
    left_out: int
    doubtful: int
    means: dict[str, float]
    effects: tuple[Effect, ...]
    spreads: tuple[Spread, ...]
    tests: tuple[SpreadTest, ...]
    warnings: tuple[str, ...]

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Those that a model could be fitted for."""
        return tuple(self.means)

    @property
    def terms(self) -> tuple[str, ...]:
        """Factors and their interaction."""
        return tuple(dict.fromkeys(effect.term for effect in self.effects))

    def select(self, term: str) -> tuple[Effect, ...]:
        """The effects of one term, benchmark by benchmark."""
        return tuple(effect for effect in self.effects if effect.term == term)


@dataclass(frozen=True)
class TermSummary:
    """A term over all benchmarks, in percent of the mean: absolute effects, as in Table 5.2.

    `noise` is the mean absolute effect that the standard errors alone lead to expect where there is none.
    """

    term: str
    mean: float
    largest: Effect
    noise: float
    below_001: int
    above_005: int
    n: int


def read_table(path: Path) -> pl.DataFrame:
    """Read the rows of the response from a bundle, or from a table of the same columns (CSV, Parquet).

    Raises:
        InputError: it cannot be read, or it is not a table of this study.
    """
    table = read_trials(path).filter(pl.col("response") == RESPONSE)
    if not find_factors(table):
        raise datamill.InputError(
            "this is not a table of the study: no factor of it varies",
            where=str(path),
            remedy=f"Its factors are {', '.join(LEVELS)}.",
        )
    return table


def find_factors(table: pl.DataFrame) -> tuple[str, ...]:
    """Factors of the study that have both levels in the table, in the study's order."""
    return tuple(
        name
        for name, pair in LEVELS.items()
        if name in table.columns and set(pair) <= set(table[name].unique())
    )


def describe_occasion(table: pl.DataFrame, name: str) -> Occasion:
    """Compute everything from the rows of the response, one valid row for each trial that counts."""
    factors = find_factors(table)
    usable = table.filter(pl.col("valid")).with_columns(
        pl.col(factor).cast(pl.Enum(LEVELS[factor])) for factor in factors
    )
    means, effects, warnings = {}, [], []
    for benchmark in sorted(usable["package"].unique()):
        rows = usable.filter(pl.col("package") == benchmark)
        try:
            found = datamill.anova(rows, response=RESPONSE, factors=factors, order=2, quantiles=False)
        except datamill.InputError as error:
            warnings.append(f"{benchmark} has no effects: {error.message}")
            continue
        model = found.model
        means[benchmark] = model.mean.estimate
        tests = {row.term.name: row.p for row in model.terms}
        effects += [
            Effect(
                benchmark,
                share.term,
                share.percent,
                share.standard_error,
                share.percent / 100 * model.mean.estimate,
                tests[share.term],
            )
            for share in model.shares
        ]
    variability = datamill.variability(usable, response=RESPONSE, factors=["package", *factors])
    assert isinstance(variability, Variability)
    spreads = tuple(
        Spread(point.levels[0], point.levels[1:], point.n, point.cv.estimate)
        for point in variability.points.points
        if point.cv is not None
    )
    overall = {item.factor: item for item in variability.by_factor}
    return Occasion(
        name=name,
        factors=factors,
        trials=usable["trial_id"].n_unique(),
        left_out=table.height - usable.height,
        doubtful=usable["doubt"].count() if "doubt" in usable.columns else 0,
        means=means,
        effects=tuple(effects),
        spreads=spreads,
        tests=tuple(
            SpreadTest(
                factor,
                LEVELS[factor],
                tuple(
                    {level: m for level, _, m in overall[factor].medians}[level] for level in LEVELS[factor]
                ),
                overall[factor].overall.p,
                _test_within_benchmarks(spreads, factors, factor),
            )
            for factor in factors
            if factor in overall and len(overall[factor].medians) == len(LEVELS[factor])
        ),
        warnings=tuple(warnings),
    )


def _test_within_benchmarks(spreads: Sequence[Spread], factors: Sequence[str], factor: str) -> float | None:
    """P of a rank test of coefficients of variation between the levels, stratified by benchmark."""
    at = list(factors).index(factor)
    table = {
        "benchmark": [spread.benchmark for spread in spreads],
        factor: [spread.levels[at] for spread in spreads],
        "cv": [spread.cv for spread in spreads],
    }
    try:
        found = datamill.tests(table, response="cv", factors=[factor, "benchmark"], factor=factor)
    except datamill.InputError:
        return None
    combined = found.comparison.combined
    return None if combined is None else combined.test.p


def summarize_term(occasion: Occasion, term: str) -> TermSummary:
    """A term's absolute effects over all benchmarks."""
    effects = occasion.select(term)
    return TermSummary(
        term=term,
        mean=fmean(abs(effect.percent) for effect in effects),
        largest=max(effects, key=lambda effect: abs(effect.percent)),
        # The mean of |z| where z is normal with standard deviation 1.
        noise=fmean(effect.standard_error for effect in effects) * (2 / 3.141592653589793) ** 0.5,
        below_001=sum(effect.p is not None and effect.p < 0.01 for effect in effects),
        above_005=sum(effect.p is None or effect.p > 0.05 for effect in effects),
        n=len(effects),
    )


def spell_json(occasions: Sequence[Occasion]) -> str:
    """All figures with every digit; percentages are of the mean, coefficients of variation are fractions."""
    content = [
        {
            "name": occasion.name,
            "factors": list(occasion.factors),
            "trials": occasion.trials,
            "left_out": occasion.left_out,
            "doubtful": occasion.doubtful,
            "mean_s": occasion.means,
            "effects": [effect.__dict__ for effect in occasion.effects],
            "spreads": [
                {
                    "benchmark": spread.benchmark,
                    "levels": dict(zip(occasion.factors, spread.levels, strict=True)),
                    "n": spread.n,
                    "cv": spread.cv,
                }
                for spread in occasion.spreads
            ],
            "kruskal_wallis": [test.__dict__ for test in occasion.tests],
            "terms": [
                {**found.__dict__, "largest": found.largest.__dict__}
                for found in (summarize_term(occasion, term) for term in occasion.terms)
            ],
            "warnings": list(occasion.warnings),
        }
        for occasion in occasions
    ]
    return json.dumps({"schema": 1, "occasions": content}, indent=2, ensure_ascii=False)
