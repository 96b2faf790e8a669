"""Packages over machines of which one is ten times as fast as another: what is found, how often it errs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made.fleet_study import SECONDS, make_fleet_study
from made.planted_study import Study
from running.nightly import choose_count

from datamill.analysis.answer.machines.agreement import judge_equal_means
from datamill.analysis.answer.machines.machine_by_machine import (
    compare_machine_by_machine,
    relate_to_machines,
)
from datamill.analysis.answer.response import ResponseAnalysis, analyze_response


def analyze(study: Study) -> ResponseAnalysis:
    experiment, design, table, _ = study
    related = relate_to_machines(experiment, design, table)
    return analyze_response(related.experiment, design, related.table, related.experiment.responses[0])


def test_a_ratio_that_holds_on_all_machines_lies_in_its_interval_as_often_as_stated() -> None:
    studies, held = 200, 0
    for seed in range(studies):
        comparison = analyze(make_fleet_study(1.05, seed=seed, replicates=4)).comparison
        assert comparison is not None
        ratio = comparison.pairs[0].ratio
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        held += ratio.low <= 1.05 <= ratio.high
    # Binomial: 95% of 200, three standard deviations either way.
    assert 181 <= held <= 199


def test_equal_packages_on_unlike_machines_stay_silent_as_often_as_stated() -> None:
    studies = choose_count(40, 300)
    verdicts = disagreements = alone = 0
    for seed in range(studies):
        study = make_fleet_study(1.0, seed=1000 + seed, replicates=4)
        experiment, design, table, _ = study
        comparison = analyze(study).comparison
        assert comparison is not None
        # At alpha 5% rather than 1%: rates show with fewer studies.
        verdicts += (comparison.pairs[0].p or 0.0) < 0.05
        found = compare_machine_by_machine(experiment, design, table, experiment.responses[0])
        assert found is not None
        disagreements += (found.agreements[0].p or 0.0) < 0.05
        ps = [
            machine.analysis.comparison.pairs[0].p or 0.0
            for machine in found.machines
            if machine.analysis is not None and machine.analysis.comparison is not None
        ]
        assert len(ps) == 4
        alone += min(ps) < 0.05 / len(ps)
    # Binomial: 5%, and three standard deviations beyond.
    most = 0.05 * studies + 3 * math.sqrt(0.05 * 0.95 * studies)
    assert verdicts <= most
    assert disagreements <= most
    assert alone <= most
    assert verdicts + disagreements + alone > 0


def test_the_slow_machine_does_not_outvote_the_others() -> None:
    ratios = {"atom": 0.97, "xeon": 1.06, "cortex": 1.06, "epyc": 1.06}
    comparison = analyze(make_fleet_study(ratios, seed=3, replicates=20, noise=0.005)).comparison
    assert comparison is not None
    pair = comparison.pairs[0]
    assert pair.ratio is not None
    # Sums of seconds would say 0.99: most seconds are those of the slow machine.
    weights = np.array(list(SECONDS.values()))
    assert float(np.dot(weights, list(ratios.values())) / weights.sum()) < 1.0
    assert pair.ratio.estimate == pytest.approx(1.037, abs=0.005)
    assert pair.verdict == "worse"


def test_a_hidden_factor_shows_in_spite_of_machines_that_differ_far_more() -> None:
    analysis = analyze(make_fleet_study(1.0, seed=4, aslr=1.03, noise=0.01, replicates=10))
    assert analysis.influence is not None
    names = [factor.name for factor in analysis.observations.cells.factors]
    detected = {
        ":".join(names[index] for index in item.term.factors)
        for item in analysis.influence.terms
        if item.detected
    }
    assert detected == {"aslr"}


def test_machines_that_disagree_are_found_and_named() -> None:
    ratios = {"atom": 0.9, "xeon": 1.05, "cortex": 1.1, "epyc": 1.05}
    experiment, design, table, _ = make_fleet_study(ratios, seed=5, replicates=10)
    found = compare_machine_by_machine(experiment, design, table, experiment.responses[0])
    assert found is not None
    assert found.disagree
    (agreement,) = found.agreements
    assert agreement.lowest is not None
    assert agreement.highest is not None
    assert (agreement.lowest[0], agreement.highest[0]) == ("atom", "cortex")
    verdicts = {
        machine.name: machine.analysis.comparison.pairs[0].verdict
        for machine in found.machines
        if machine.analysis is not None and machine.analysis.comparison is not None
    }
    assert verdicts["atom"] == "better"
    assert verdicts["cortex"] == "worse"


def test_lost_trials_do_not_tilt_the_levels_of_machines() -> None:
    experiment, design, table, _ = make_fleet_study(1.5, seed=6, replicates=12, noise=0.005)
    # The slow machine lost nearly all trials of the slow package: its plain mean would be far too low.
    keep = (
        (table["machine"] != "atom") | (table["package"] != "b") | (table["trial_id"].rank("dense") % 7 == 0)
    )
    few = table.filter(keep)
    assert few.height < table.height - 15
    levels = relate_to_machines(experiment, design, few).levels["time"]
    for name, seconds in SECONDS.items():
        assert levels[name] / seconds == pytest.approx(1.25, rel=0.01)


def test_all_trials_have_a_hundred_percent_of_their_machines_mean_however_unlike_these_are() -> None:
    ratios = {"atom": 0.2, "xeon": 1.0, "cortex": 5.0, "epyc": 1.0}
    experiment, design, table, _ = make_fleet_study(ratios, seed=7)
    related = relate_to_machines(experiment, design, table).table
    cells = related.group_by("package", "aslr", "machine").agg(pl.col("value").mean())
    assert cells["value"].mean() == pytest.approx(100.0)
    assert cells["value"].std() > 30


def test_welchs_test_errs_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    scales, sizes = np.array([1.0, 3.0, 0.5, 10.0]), np.array([6, 12, 8, 20])
    below = 0
    for _ in range(1000):
        groups = [rng.normal(0.0, scale, size) for scale, size in zip(scales, sizes, strict=True)]
        means = np.array([group.mean() for group in groups])
        variances = np.array([group.var(ddof=1) / group.size for group in groups])
        below += judge_equal_means(means, variances, sizes - 1.0) < 0.05
    assert 30 <= below <= 70


def test_rounds_of_machines_that_drift_are_taken_out_of_the_comparison() -> None:
    narrower = held = 0
    for seed in range(20):
        experiment, design, table, trials = make_fleet_study(1.05, seed=50 + seed, noise=0.01)
        rng = np.random.default_rng(seed)
        rounds = pl.int_range(pl.len()).over("package", "aslr", "machine").cast(pl.String)
        table = table.with_columns(block=pl.concat_str("machine", rounds, separator="/"))
        drift = {block: rng.lognormal(0.0, 0.05) for block in sorted(set(table["block"]))}
        factor = table["block"].replace_strict(drift, return_dtype=pl.Float64)
        drifting = table.with_columns(value=pl.col("value") * factor)
        widths = []
        for order in ("interleaved", "random"):
            asked = replace(experiment, order=order)
            analysis = analyze((asked, design, drifting, trials))
            assert (analysis.blocked is not None) == (order == "interleaved")
            assert analysis.comparison is not None
            ratio = analysis.comparison.pairs[0].ratio
            assert ratio is not None
            assert ratio.low is not None
            assert ratio.high is not None
            widths.append(ratio.high - ratio.low)
            held += order == "interleaved" and ratio.low <= 1.05 <= ratio.high
        narrower += widths[0] < 0.5 * widths[1]
    assert narrower == 20
    assert held >= 16
