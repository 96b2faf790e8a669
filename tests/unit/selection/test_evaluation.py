from __future__ import annotations

from dataclasses import replace

from made.selection.selection_records import make_case

from datamill.selection.evaluation.backtests import evaluate_epochs, evaluate_pooled_epochs, evaluate_walk
from datamill.selection.evaluation.folds import evaluate_all_tests, evaluate_full, evaluate_per_test
from datamill.selection.predictors.dummies import Constant, fit_always, fit_never
from datamill.selection.predictors.perphecy import fit_perphecy


class Spy:
    """Learns nothing, and remembers what it was given."""

    def __init__(self):
        self.given = []

    def __call__(self, cases):
        self.given.append(list(cases))
        return Constant(runs=True)


def all_pairs(n):
    return [
        make_case(new, new % 3 == 0, old, heat=50 * (new % 3 == 0) + (new - old))
        for new in range(1, n)
        for old in range(new)
    ]


def test_an_epoch_learns_from_what_is_older_and_predicts_the_next_commits_against_its_own():
    spy = Spy()
    evaluation = evaluate_epochs(all_pairs(9), spy, first=4, ahead=2)
    predicted = [(item.part, item.case.old_order, item.case.new_order) for item in evaluation.predictions]
    assert predicted == [(4, 4, 5), (4, 4, 6), (5, 5, 6), (5, 5, 7), (6, 6, 7), (6, 6, 8), (7, 7, 8)]
    for epoch, given in zip([4, 5, 6, 7], spy.given, strict=True):
        assert [(case.old_order, case.new_order) for case in given] == [
            (n - 1, n) for n in range(1, epoch + 1)
        ]


def test_pooled_epochs_predict_the_same_cases_and_learn_from_all_benchmarks_up_to_theirs():
    cases = [replace(case, benchmark=name) for name in ("one", "two") for case in all_pairs(9)]
    spy = Spy()
    pooled = evaluate_pooled_epochs(cases, spy, first=4, ahead=2)
    apart = evaluate_epochs(cases, fit_never, first=4, ahead=2)
    assert {id(item.case) for item in pooled.predictions} == {id(item.case) for item in apart.predictions}
    for epoch, given in zip([4, 5, 6, 7], spy.given, strict=True):
        learnt = sorted((case.benchmark, case.new_order) for case in given)
        assert learnt == [(name, n) for name in ("one", "two") for n in range(1, epoch + 1)]


def test_pairs_that_an_epoch_lacks_are_told():
    cases = [make_case(order, order == 2, heat=order) for order in range(1, 6)]
    evaluation = evaluate_epochs(cases, fit_never, first=1, ahead=2)
    assert any("were not among the cases" in line for line in evaluation.warnings)


def test_walking_forward_learns_from_older_versions_alone():
    spy = Spy()
    evaluation = evaluate_walk(all_pairs(8), spy, first=4, window=2)
    assert [item.case.new_order for item in evaluation.predictions] == [4, 5, 6, 7]
    assert all(item.case.old_order == item.case.new_order - 1 for item in evaluation.predictions)
    assert [[case.new_order for case in given] for given in spy.given] == [[2, 3], [3, 4], [4, 5], [5, 6]]


def test_no_case_is_tested_in_the_fold_that_learns_it():
    cases = all_pairs(8)
    spy = Spy()
    evaluation = evaluate_all_tests(cases, spy, folds=5, seed=3)
    assert sorted(id(item.case) for item in evaluation.predictions) == sorted(map(id, cases))
    for part, given in enumerate(spy.given):
        tested = {id(item.case) for item in evaluation.predictions if item.part == part}
        assert len(tested) + len(given) == len(cases)
        assert not tested & set(map(id, given))


def test_perphecy_finds_all_hits_of_what_it_learnt():
    cases = all_pairs(9)
    evaluation = evaluate_full(cases, fit_perphecy)
    assert evaluation.hit.value == 1.0
    assert evaluation.dismiss.value == 1.0
    assert any("not a prediction" in line for line in evaluation.warnings)


def test_the_dummies_have_the_rates_that_they_must_have():
    cases = all_pairs(9)
    always, never = evaluate_per_test(cases, fit_always), evaluate_per_test(cases, fit_never)
    assert (always.hit.value, always.dismiss.value) == (1.0, 0.0)
    assert (never.hit.value, never.dismiss.value) == (0.0, 1.0)
    assert always.area.estimate == never.area.estimate == 0.5
    assert always.at_dismissed[0][1].hit.value == 0.0


def test_a_history_without_a_change_has_no_hit_rate():
    cases = [make_case(order, False, heat=order) for order in range(1, 30)]
    evaluation = evaluate_walk(cases, fit_perphecy, first=5)
    assert evaluation.hit.value is None
    assert evaluation.dismiss.value == 1.0
    assert any("no change" in line for line in evaluation.warnings)
