from __future__ import annotations

import math
import random

import numpy as np
import pytest
from made.selection.selection_records import make_case
from scipy.optimize import minimize

from datamill.selection.predictors.forest import fit_forest
from datamill.selection.predictors.logistic import fit_logistic
from datamill.selection.predictors.models.probability import choose_least
from datamill.selection.predictors.operating_points import GuardedFit, find_conformal_least
from datamill.selection.predictors.preparation.time_weights import weigh_by_time
from datamill.selection.predictors.support_vectors import compare_rows, fit_support_vectors


def draw_history(seed=1, count=160):
    draw = random.Random(seed)
    cases = []
    for order in range(1, count + 1):
        heat = draw.random()
        cases.append(make_case(order, draw.random() < heat**3, heat=heat, noise=draw.random()))
    return cases


def test_a_miss_that_costs_more_lowers_the_probability_from_which_on_it_runs():
    assert choose_least(19) == pytest.approx(0.05)
    assert choose_least(1) == 0.5
    cases = draw_history(count=60)
    runs = [sum(GuardedFit(fit_logistic, cost)(cases).decides(case) for case in cases) for cost in (1, 99)]
    assert runs == sorted(runs)
    assert runs[0] < runs[-1]


def test_a_promised_hit_rate_holds_for_new_changes():
    # Over many histories a new change reaches the score with at least that probability.
    draw = random.Random(3)
    found = 0
    for _ in range(2000):
        scores = [draw.gauss(0, 1) for _ in range(24)]
        found += draw.gauss(0, 1) >= find_conformal_least(scores, 0.9)
    # 2000 draws at 0.92 (2 of 25 below): four standard errors are 0.024.
    assert 0.896 < found / 2000 < 0.944


def test_too_few_changes_promise_nothing_and_run_everything():
    assert find_conformal_least([0.5] * 8, 0.9) == -math.inf
    assert find_conformal_least([0.5, 0.2] * 5, 0.9) == 0.2
    cases = [make_case(order, order < 4, heat=order / 30) for order in range(1, 31)]
    model = GuardedFit(fit_logistic, hit_rate=0.9)(cases)
    assert all(model.decides(case) for case in cases)
    assert any("too few to promise a hit rate of 90%" in line for line in model.warnings)


def test_pairs_close_in_time_count_more():
    near, far = make_case(1, True, **{"commit.days": 0.0}), make_case(2, True, **{"commit.days": 90.0})
    weights = weigh_by_time([near, far])
    assert weights.mean() == pytest.approx(1.0)
    assert weights[0] / weights[1] == pytest.approx(4.0)


def test_a_forest_ranks_changes_above_others_that_it_has_not_seen():
    model = fit_forest(draw_history())
    high, low = make_case(1, None, heat=0.97, noise=0.5), make_case(1, None, heat=0.1, noise=0.5)
    assert model.score(high) > 0.6
    assert model.score(low) < 0.1
    assert model == fit_forest(draw_history())


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_support_vectors_are_the_optimum_that_a_general_solver_finds(kernel):
    cases = draw_history(5, 40)
    model = fit_support_vectors(cases, kernel=kernel)
    rows = model.scaling.build_matrix(cases)
    signs = np.where([case.changed for case in cases], 1.0, -1.0)
    gram = compare_rows(rows, rows, kernel, model.gamma) * np.outer(signs, signs)

    def dual(alphas):
        return 0.5 * alphas @ gram @ alphas - alphas.sum()

    ours = np.zeros(len(cases))
    kept = {tuple(vector): weight for vector, weight in zip(model.vectors, model.coefficients, strict=True)}
    for place, row in enumerate(rows):
        ours[place] = abs(kept.get(tuple(row), 0.0))
    best = minimize(
        dual,
        np.full(len(cases), 0.1),
        jac=lambda alphas: gram @ alphas - 1,
        bounds=[(0, 1)] * len(cases),
        constraints={"type": "eq", "fun": lambda alphas: alphas @ signs},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert dual(ours) == pytest.approx(best.fun, abs=2e-3)
    values = compare_rows(rows, rows, kernel, model.gamma) @ (ours * signs) + model.bias
    assert [model.decision(case) for case in cases] == pytest.approx(values.tolist())
