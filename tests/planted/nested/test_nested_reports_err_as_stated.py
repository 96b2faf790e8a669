"""The report of nested bundles: packages judged by builds, though design points share these."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made.nested_study import make_nested_study
from running.nightly import choose_count
from scipy.stats import binom, t

from datamill.analysis.answer.response import ResponseAnalysis, analyze_response

ALPHA = 0.05


def analyze(
    seed: int, shape: tuple[int, int, int], *, aslr: tuple[str, ...] = (), **truth: float
) -> ResponseAnalysis:
    experiment, design, table, _ = make_nested_study(shape=shape, aslr=aslr, seed=seed, **truth)  # type: ignore[arg-type]
    return analyze_response(replace(experiment, alpha=ALPHA), design, table, experiment.responses[0])


@pytest.mark.parametrize("aslr", [(), ("on", "off")], ids=["one point", "points that share builds"])
@pytest.mark.parametrize("shape", [(6, 3, 1), (6, 1, 1)], ids=["three executions", "one execution"])
def test_equal_packages_seem_to_differ_as_often_as_stated(
    aslr: tuple[str, ...], shape: tuple[int, int, int]
) -> None:
    draws, alarms, missed = choose_count(60, 150), 0, 0
    for seed in range(draws):
        analysis = analyze(seed, shape, aslr=aslr)
        assert analysis.comparison is not None
        pair = analysis.comparison.pairs[0]
        alarms += pair.verdict in ("better", "worse")
        missed += not pair.difference.low <= 0 <= pair.difference.high
    for hits in (alarms, missed):
        assert hits <= binom.ppf(0.999, draws, ALPHA), hits / draws


def test_builds_of_one_are_judged_too_sure_and_say_so() -> None:
    alarms = 0
    for seed in range(60):
        analysis = analyze(seed, (1, 6, 1))
        assert analysis.comparison is not None
        alarms += analysis.comparison.pairs[0].verdict in ("better", "worse")
    assert alarms > 30


def test_a_factor_within_builds_is_found_below_the_noise_between_them() -> None:
    found, covered = 0, 0
    for seed in range(40):
        analysis = analyze(seed, (8, 3, 1), aslr=("on", "off"), aslr_effect=1.5)
        assert analysis.influence is not None
        term = next(item for item in analysis.influence.terms if item.term.name == "aslr")
        found += term.detected
        covered += any(
            item.departure.low <= 0.75 <= item.departure.high
            or item.departure.low <= -0.75 <= item.departure.high
            for item in analysis.level_means
        )
    # Builds differ by 2 ms, the factor moves all of them by 1.5 ms.
    assert found > 35
    assert covered > 35


def test_packages_on_shared_builds_are_compared_as_means_of_builds_over_the_points() -> None:
    experiment, design, table, _ = make_nested_study(shape=(7, 2, 3), aslr=("on", "off"), change=2.0)
    analysis = analyze_response(experiment, design, table, experiment.responses[0])
    assert analysis.comparison is not None
    value = pl.col("value").mean()
    means = {}
    for name in ("old", "new"):
        part = table.filter(package=name)
        for keys in (("build", "aslr", "trial_id"), ("build", "aslr"), ("build",)):
            part = part.group_by(keys).agg(value)
        means[name] = part["value"].to_numpy()
    variance = {name: float(np.var(part, ddof=1)) / part.size for name, part in means.items()}
    total = variance["old"] + variance["new"]
    pair = analysis.comparison.pairs[0]
    assert pair.difference.estimate == pytest.approx(means["new"].mean() - means["old"].mean())
    assert pair.df == pytest.approx(total**2 / ((variance["old"] ** 2 + variance["new"] ** 2) / 6))
    half = (pair.difference.high - pair.difference.low) / 2
    assert half == pytest.approx(t.ppf(0.975, pair.df) * np.sqrt(total))
