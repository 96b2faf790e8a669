from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from made.selection.selection_records import make_case
from scipy.optimize import minimize

from datamill.conduct.selection.deciding.other_projects import learn_others, read_other_sizes, read_others
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import COUNT_THRESHOLD
from datamill.selection.predictors.logistic import APART_PENALTY, PENALTY, fit_logistic
from datamill.selection.predictors.registry import choose_fit, find_predictor


def draw_cases(telling, n, seed, first=0):
    """Cases that change where the feature `telling` is high; the other one says nothing."""
    draw = random.Random(seed)
    cases = []
    for order in range(1 + first, n + 1 + first):
        features = {"own.a": float(draw.randrange(50)), "own.b": float(draw.randrange(50))}
        changed = draw.random() < 0.02 + 0.018 * features[telling]
        cases.append(replace(make_case(order, changed), features=features))
    return cases


def slope(model, name):
    return model.coefficients[model.scaling.names.index(name)]


def test_few_cases_hardly_correct_what_others_taught_and_many_do():
    others = fit_logistic(draw_cases("own.a", 400, 1))
    few = fit_logistic(draw_cases("own.b", 8, 2), others)
    many = fit_logistic(draw_cases("own.b", 2000, 3), others)
    assert slope(few, "own.a") > 2 * slope(few, "own.b")
    assert slope(many, "own.b") > 2 * slope(many, "own.a")


def test_coefficients_near_those_of_others_are_the_optimum_that_a_general_solver_finds():
    others = fit_logistic(draw_cases("own.a", 200, 4))
    cases = [
        replace(case, features={**case.features, "user.c": float(number % 7)})
        for number, case in enumerate(draw_cases("own.b", 60, 5))
    ]
    model = fit_logistic(cases, others)
    assert model.scaling.names == ("own.a", "own.b", "user.c")
    assert model.scaling.largest[:2] == others.scaling.largest
    design = np.column_stack([np.ones(60), model.scaling.build_matrix(cases)])
    changed = np.array([case.changed for case in cases], dtype=float)
    center = np.array([0.0, *others.coefficients, 0.0])
    penalty = np.array([0.0, APART_PENALTY, APART_PENALTY, PENALTY])

    def loss(beta):
        linear = design @ beta
        apart = penalty * (beta - center) ** 2
        return np.sum(np.logaddexp(0, linear) - changed * linear) + 0.5 * np.sum(apart)

    found = minimize(loss, np.zeros(4), bounds=[(None, None)] + [(0, None)] * 3, tol=1e-14)
    ours = np.array([model.intercept, *model.coefficients])
    assert loss(ours) <= found.fun + 1e-9
    assert ours == pytest.approx(found.x, abs=1e-3)


def test_a_history_without_a_change_is_ranked_by_what_others_taught():
    others = fit_logistic(draw_cases("own.a", 200, 6))
    calm = [replace(case, changed=False) for case in draw_cases("own.a", 30, 7)]
    model = fit_logistic(calm, others)
    scores = [model.score(case) for case in calm]
    assert np.mean(scores) == pytest.approx(0.5 / 31, rel=1e-6)
    hottest = max(calm, key=lambda case: case.features["own.a"])
    assert model.score(hottest) == max(scores) > 3 * min(scores)
    untaught = fit_logistic([], others)
    assert untaught.score(hottest) == pytest.approx(others.score(hottest))


def test_a_project_does_not_learn_from_itself():
    found = {"one": draw_cases("own.a", 200, 8), "two": draw_cases("own.b", 200, 9)}
    taught = learn_others(found, found)
    assert slope(taught.without["two"], "own.a") > 2 * slope(taught.without["two"], "own.b")
    assert slope(taught.without["one"], "own.b") > 2 * slope(taught.without["one"], "own.a")
    shipped = read_others("some project of a user")
    for own in ("lz4", "cjson"):
        assert read_others(own) not in (shipped, read_others("lz4" if own == "cjson" else "cjson"))


def test_sizes_of_other_projects_are_of_counted_instructions_and_never_its_own():
    cases = [replace(case, ratio=1.0123456) for case in draw_cases("own.a", 30, 8)]
    found = {"one": cases, "two": cases[:5]}
    taught = learn_others(found, found)
    changes = sum(case.changed for case in cases)
    assert taught.sizes["one"] == ((0.01235,),) * changes
    counted = TruthSetting("instructions")
    shipped = read_other_sizes("some project of a user", counted)
    assert len(shipped) == 4
    assert len(read_other_sizes("lz4", counted)) == 3
    assert all(size >= 0.001 for project in shipped for sizes in project for size in sizes)
    assert read_other_sizes("lz4", TruthSetting("relevant")) == ()


def test_sizes_are_of_cases_by_the_common_threshold_and_models_of_those_by_the_own_one():
    cases = draw_cases("own.a", 60, 8)
    sized = [replace(case, changed=True, ratio=1.002) for case in cases]
    taught = learn_others({"one": cases, "two": cases}, {"one": sized, "two": sized})
    assert taught.sizes["one"] == ((0.002,),) * 60
    assert taught.every == learn_others({"one": cases, "two": cases}, {}).every


def test_shipped_sizes_of_each_project_begin_at_the_threshold_of_counts():
    every = read_other_sizes("some project of a user", TruthSetting("instructions"))
    for project in every:
        least = min(size for sizes in project for size in sizes)
        # A project whose own changes begin at 0.5% has none below it where these were taken.
        assert COUNT_THRESHOLD <= least < 2 * COUNT_THRESHOLD


def test_what_is_shipped_holds_no_distances_and_rises_with_executed_changes():
    shipped = read_others("some project of a user")
    assert not any(name.startswith(("commit.", "user.")) for name in shipped.scaling.names)
    assert slope(shipped, "own.changed_share_executed") > 0
    assert shipped.offsets == {}


def test_classifiers_of_2019_see_the_published_features_alone():
    cases = [
        replace(case, features={**case.features, "published.changed_functions": float(number % 5)})
        for number, case in enumerate(draw_cases("own.a", 60, 10))
    ]
    model = choose_fit(find_predictor("forest-2019"), 19.0, None)(cases)
    scores = {
        model.score(replace(cases[0], features={"own.a": value, "published.changed_functions": 2.0}))
        for value in (0.0, 25.0, 49.0)
    }
    assert len(scores) == 1
