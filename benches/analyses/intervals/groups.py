"""`tests`: shifts, shares of pairs, differences of means and ratios of spreads between groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from datamill.analysis.groups.comparison import GroupComparison, compare_groups
from datamill.analysis.groups.group_comparison import Group, Stratum
from datamill.analysis.groups.ranks.rank_tests import compare_kruskal_wallis
from intervals.row import Outcome, Row, holds
from intervals.shapes import SHAPES

SHIFT = 1.0
SIZES = ((8, 8), (30, 30), (10, 40))
LIKE = ("normal", "log-normal 1", "Pareto 2.5", "two modes, 0.3", "Poisson 2")


@cache
def _find_share(first: str, second: str, scale: float, shift: float) -> float:
    """The share of pairs in which the second is larger, ties half, of 400,000."""
    rng = np.random.default_rng(99)
    one, other = SHAPES[first].draw(rng, 400_000), shift + scale * SHAPES[second].draw(rng, 400_000)
    return float(np.mean(other > one) + np.mean(other == one) / 2)


def _name(found: GroupComparison, truths: dict[str, float]) -> Outcome:
    """Estimates of the pair (or, over several strata, of all at once) of which the truth is known."""
    test = found.strata[0].pairs[0].test if found.combined is None else found.combined.test
    return {
        item.name: (holds(item.value, truths[item.name]), bool(found.warnings))
        for item in test.estimates
        if item.name in truths
    }


def _compare(
    kind: str, assumption: str, sizes: tuple[int, int], *, scale: float = 1.0, strata: int = 1
) -> Row:
    shape = SHAPES[kind]

    def repeat(rng: np.random.Generator) -> Outcome:
        parts = [
            Stratum(
                (("machine", str(at)),) if strata > 1 else (),
                (
                    Group("a", at + shape.draw(rng, sizes[0])),
                    Group("b", at + SHIFT + scale * shape.draw(rng, sizes[1])),
                ),
            )
            for at in range(strata)
        ]
        truths = {"difference of means": SHIFT + (scale - 1) * shape.mean}
        if scale == 1:
            truths["Hodges-Lehmann shift"] = SHIFT
        if assumption == "nothing" and strata == 1:
            truths["probability of superiority"] = _find_share(kind, kind, scale, SHIFT)
        return _name(compare_groups(parts, "f", assumption=assumption), truths)  # type: ignore[arg-type]

    data = kind + (f", second {scale:g} times as wide" if scale != 1 else "")
    n = f"{sizes[0]}, {sizes[1]}" + (f" in each of {strata} strata" if strata > 1 else "")
    return Row("tests", assumption, data, n, repeat)


def _compare_spread(kind: str, assumption: str, sizes: tuple[int, int]) -> Row:
    def repeat(rng: np.random.Generator) -> Outcome:
        groups = (
            Group("a", SHAPES[kind].draw(rng, sizes[0])),
            Group("b", 3 * SHAPES[kind].draw(rng, sizes[1])),
        )
        found = compare_groups([Stratum((), groups)], "f", assumption=assumption, aspect="spread")  # type: ignore[arg-type]
        estimates = found.strata[0].pairs[0].test.estimates
        return {
            item.name: (holds(item.value, 9.0 if "variance" in item.name else 3.0), bool(found.warnings))
            for item in estimates[:1]
        }

    return Row("tests --compare spread", assumption, kind, f"{sizes[0]}, {sizes[1]}", repeat)


def _compare_three(kind: str, assumption: str, n: int) -> Row:
    """Intervals of all pairs of three groups together."""

    def repeat(rng: np.random.Generator) -> Outcome:
        groups = tuple(Group(str(at), at + SHAPES[kind].draw(rng, n)) for at in range(3))
        found = compare_groups([Stratum((), groups)], "f", assumption=assumption)  # type: ignore[arg-type]
        names = ("difference of means", "Hodges-Lehmann shift")
        held = all(
            holds(item.value, float(pair.second) - float(pair.first))
            for pair in found.strata[0].pairs
            for item in pair.test.estimates
            if item.name in names
        )
        return {"all three pairs together": (held, bool(found.warnings))}

    return Row("tests", assumption, kind, f"3 × {n}", repeat)


@cache
def _find_epsilon() -> float:
    rng = np.random.default_rng(98)
    many = tuple(Group(str(at), rng.normal(at / 2, 1, 100_000)) for at in range(3))
    return compare_kruskal_wallis(many, 0.95).estimates[0].value.estimate


def _measure_epsilon(n: int) -> Row:
    def repeat(rng: np.random.Generator) -> Outcome:
        groups = tuple(Group(str(at), rng.normal(at / 2, 1, n)) for at in range(3))
        value = compare_kruskal_wallis(groups, 0.95).estimates[0].value
        return {"epsilon squared": (holds(value, _find_epsilon()), False)}

    return Row("tests", "nothing", "normal", f"3 × {n}", repeat)


def list_rows() -> Iterator[Row]:
    """All rows of `tests`."""
    for assumption in ("nothing", "exchangeable", "normal", "normal-equal-variances"):
        for kind in LIKE:
            # All exchanges of 30 and 30 cannot be gone through: draws take long, and say no more.
            for sizes in SIZES if assumption != "exchangeable" else SIZES[:1]:
                yield _compare(kind, assumption, sizes)
    for assumption in ("nothing", "normal", "normal-equal-variances"):
        for sizes in SIZES:
            yield _compare("normal", assumption, sizes, scale=4.0)
            yield _compare("normal", assumption, (sizes[1], sizes[0]), scale=4.0)
    for assumption in ("nothing", "exchangeable", "normal", "normal-equal-variances"):
        for kind in ("normal", "log-normal 1"):
            yield _compare(kind, assumption, (4, 6), strata=5)
    for kind in ("normal", "log-normal 1", "Pareto 2.5", "two modes, 0.3"):
        for sizes in SIZES:
            yield _compare_spread(kind, "nothing", sizes)
    for kind in ("normal", "log-normal 1"):
        for sizes in SIZES:
            yield _compare_spread(kind, "normal", sizes)
    for assumption in ("nothing", "normal", "normal-equal-variances"):
        for kind in ("normal", "log-normal 1"):
            yield _compare_three(kind, assumption, 10)
    for n in (10, 30):
        yield _measure_epsilon(n)
