from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from made.selection.selection_records import make_case
from scipy.optimize import minimize

from datamill.selection.predictors.boosting import fit_boosting
from datamill.selection.predictors.logistic import OFFSET_PENALTY, PENALTY, fit_logistic
from datamill.selection.predictors.registry import PREDICTORS, find_predictor


def draw_history(n=300, seed=4):
    """Changes become likelier with `heat`; `noise` says nothing, and `absent` is always 0."""
    draw = random.Random(seed)
    cases = []
    for order in range(1, n + 1):
        heat, noise = draw.choice([0, 0, 0, 20, 60, 100]), draw.randrange(50)
        changed = draw.random() < 0.02 + 0.006 * heat
        cases.append(make_case(order, changed, heat=heat, noise=noise, absent=0))
    return cases


def test_logistic_coefficients_are_the_optimum_that_a_general_solver_finds():
    cases = draw_history()
    model = fit_logistic(cases)
    assert model.scaling.names == ("heat", "noise")
    design = np.column_stack([np.ones(len(cases)), model.scaling.build_matrix(cases)])
    changed = np.array([case.changed for case in cases], dtype=float)

    def loss(beta):
        linear = design @ beta
        return np.sum(np.logaddexp(0, linear) - changed * linear) + 0.5 * PENALTY * np.sum(beta[1:] ** 2)

    found = minimize(
        loss, np.zeros(3), method="L-BFGS-B", bounds=[(None, None), (0, None), (0, None)], tol=1e-14
    )
    ours = np.array([model.intercept, *model.coefficients])
    assert loss(ours) <= found.fun + 1e-9
    assert ours == pytest.approx(found.x, abs=1e-4)


def draw_benchmarks(shares, n):
    """Benchmarks that change in some share of `n` versions each, whatever their features say."""
    draw = random.Random(5)
    return [
        replace(make_case(order, draw.random() < share, heat=draw.randrange(50)), benchmark=name)
        for name, share in shares.items()
        for order in range(1, n + 1)
    ]


def test_offsets_of_benchmarks_are_the_optimum_that_a_general_solver_finds():
    cases = draw_benchmarks({"calm": 0.05, "wild": 0.6, "usual": 0.3}, 40)
    model = fit_logistic(cases)
    names = sorted(model.offsets)
    belongs = [[case.benchmark == name for name in names] for case in cases]
    design = np.column_stack([np.ones(len(cases)), model.scaling.build_matrix(cases), belongs])
    changed = np.array([case.changed for case in cases], dtype=float)
    weights = np.array([0, PENALTY, *[OFFSET_PENALTY] * 3])

    def loss(beta):
        linear = design @ beta
        return np.sum(np.logaddexp(0, linear) - changed * linear) + 0.5 * np.sum(weights * beta**2)

    bounds = [(None, None), (0, None), *[(None, None)] * 3]
    found = minimize(loss, np.zeros(5), method="L-BFGS-B", bounds=bounds, tol=1e-14)
    ours = np.array([model.intercept, *model.coefficients, *(model.offsets[name] for name in names)])
    assert loss(ours) <= found.fun + 1e-9
    assert ours == pytest.approx(found.x, abs=1e-3)


def test_a_benchmark_with_few_cases_is_drawn_towards_the_others():
    many = fit_logistic(draw_benchmarks({"calm": 0.05, "wild": 0.6}, 400))
    few = fit_logistic([*draw_benchmarks({"calm": 0.05}, 400), *draw_benchmarks({"wild": 0.6}, 5)])
    apart = [model.offsets["wild"] - model.offsets["calm"] for model in (many, few)]
    assert 0 < apart[1] < 0.8 * apart[0]
    unknown = replace(make_case(1, None, heat=9), benchmark="new")
    assert (
        few.score(replace(unknown, benchmark="calm"))
        < few.score(unknown)
        < few.score(replace(unknown, benchmark="wild"))
    )


def test_a_mean_probability_in_training_is_the_share_of_changes():
    cases = draw_history()
    model = fit_logistic(cases)
    share = sum(bool(case.changed) for case in cases) / len(cases)
    assert np.mean([model.score(case) for case in cases]) == pytest.approx(share, abs=1e-6)


def test_boosted_probabilities_only_rise_and_are_near_the_shares_that_were_planted():
    model = fit_boosting(draw_history(2000))
    scores = [model.score(make_case(9999, None, heat=heat, noise=25)) for heat in (0, 20, 60, 100)]
    assert scores == sorted(scores)
    assert scores == pytest.approx([0.02, 0.14, 0.38, 0.62], abs=0.08)


@pytest.mark.parametrize("name", ["logistic", "boosting"])
def test_a_history_of_one_kind_gives_one_probability_and_a_warning(name):
    cases = [make_case(order, False, heat=order) for order in range(1, 20)]
    model = find_predictor(name).fit(cases)
    assert model.score(cases[0]) == pytest.approx(model.score(cases[-1]))
    assert 0 < model.score(cases[0]) < 0.1
    assert "one kind only" in model.warnings[0]


def test_a_feature_that_training_never_saw_counts_for_nothing():
    model = fit_logistic(draw_history())
    assert model.score(make_case(1, None, heat=60, noise=3)) == model.score(
        make_case(1, None, heat=60, noise=3, unheard=9)
    )


def test_a_thousandth_of_the_work_and_a_millionth_are_told_apart():
    draw = random.Random(7)
    cases = [
        replace(
            make_case(order, share > 0.0005, heat=draw.randrange(50)),
            features={"own.changed_share_executed": share, "heat": draw.randrange(50)},
        )
        for order, share in enumerate(10 ** draw.uniform(-7, 0) for _ in range(200))
    ]
    model = fit_logistic(cases)

    def score(share):
        return model.score(replace(cases[0], features={"own.changed_share_executed": share, "heat": 25}))

    assert score(1e-3) > 3 * score(1e-6)
    assert score(1e-6) < 1.2 * score(1e-7)


def test_the_dummies_decide_the_same_of_all():
    decided = {
        p.name: p.fit([]).decides(make_case(1, None)) for p in PREDICTORS if p.name in ("always", "never")
    }
    assert decided == {"always": True, "never": False}
