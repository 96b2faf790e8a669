from dataclasses import replace

import numpy as np
import pytest

import datamill
from datamill.platforms.prediction.check_errors import CheckErrors, refuse_by_check
from datamill.platforms.prediction.infer_platforms import ENSEMBLE, infer_platforms
from datamill.platforms.prediction.predict_platforms import fit_platforms, predict_platforms
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix

RANDOM = np.random.default_rng(5)
NAMES = tuple(f"m{place}" for place in range(8))
SPEEDS = np.exp(RANDOM.normal(size=(8, 1)) / 3 + RANDOM.normal(size=(8, 12)) / 20)
MATRIX = ScoreMatrix(NAMES, tuple(f"b{place}" for place in range(12)), SPEEDS, np.full((8, 12), np.nan))
TIMES = ApplicationTimes(
    "web", NAMES[:5], 9 * SPEEDS[:5, 3] ** 0.8 * SPEEDS[:5, 4] ** 0.2, np.full(5, np.nan)
)


def test_the_time_of_a_machine_takes_no_part_in_its_own_prediction() -> None:
    usual = predict_platforms(MATRIX, TIMES).check
    poisoned = TIMES.seconds.copy()
    poisoned[2] *= 1000
    strange = predict_platforms(MATRIX, replace(TIMES, seconds=poisoned)).check
    assert [item.prediction.machine for item in usual] == list(NAMES[:5])
    assert usual[2].prediction == strange[2].prediction
    assert usual[1].prediction != strange[1].prediction
    assert strange[2].error < -0.99


def test_scores_are_checked_as_scores() -> None:
    check = predict_platforms(MATRIX, replace(TIMES, kind="score")).check
    for item, seconds in zip(check, TIMES.seconds, strict=True):
        assert item.measured == 1 / seconds
        assert abs(item.error) < 0.2


def test_two_machines_are_too_few_to_hold_one_out() -> None:
    few = replace(TIMES, machines=TIMES.machines[:2], seconds=TIMES.seconds[:2], noise=TIMES.noise[:2])
    assert predict_platforms(MATRIX, few).check == ()


def test_an_application_that_every_machine_measured_is_fitted_from_its_check() -> None:
    suite = MATRIX.keep_machines(NAMES[:5])
    fitted = datamill.fit_platforms(suite, TIMES)
    found = fitted.prediction
    assert found.predictions == ()
    assert found.trained == NAMES[:5]
    assert np.isclose(sum(item.share for item in found.benchmarks), 1)
    assert found.judged == tuple(item.prediction for item in found.check)
    errors = sorted(item.expected_error for item in found.kept)
    assert found.expected_error == pytest.approx(np.median(errors))
    assert "Checked on the 5 machines that measured it" in fitted.lead[1]


def test_expected_errors_heed_the_check_and_intervals_do_not() -> None:
    for scale in (1.0, 1.02):
        times = replace(TIMES, seconds=TIMES.seconds * np.array([1, scale, 1, 1 / scale, 1]))
        plain, _, _ = infer_platforms(MATRIX, times, confidence=0.9, limit=0.25, strategy=ENSEMBLE)
        checked = predict_platforms(MATRIX, times)
        off = np.median([abs(item.error) / item.prediction.expected_error for item in checked.check])
        for before, after in zip(plain.predictions, checked.predictions, strict=True):
            assert after.expected_error == pytest.approx(before.expected_error * np.sqrt(off))
            assert (after.low, after.high, after.refusals) == (before.low, before.high, before.refusals)


def test_a_check_contradicts_only_what_chance_would_hardly_bring() -> None:
    found = fit_platforms(MATRIX, TIMES)
    inside = replace(found.check[0], prediction=replace(found.check[0].prediction, refusals=()))
    outside = replace(inside, measured=0.999 * inside.prediction.low)

    def judge(hits: int, misses: int) -> CheckErrors:
        made = replace(found, limit=10.0, check=(inside,) * hits + (outside,) * misses)
        errors = CheckErrors.gather(made)
        assert errors is not None
        return errors

    assert judge(9, 1).inside == 9
    assert [judge(hits, misses).contradicts for hits, misses in ((9, 1), (2, 1), (1, 2), (7, 3), (6, 4))] == [
        False, False, True, False, True,
    ]  # fmt: skip
    assert judge(3, 1).beyond == 0
    beyond = CheckErrors.gather(replace(found, limit=1e-6, check=(outside,)))
    assert beyond is not None
    assert beyond.misses_limit


def test_a_check_that_errs_by_more_than_the_limit_refuses_every_machine() -> None:
    found = fit_platforms(MATRIX, TIMES)
    good = replace(found.check[0], prediction=replace(found.check[0].prediction, refusals=()))
    bad = replace(good, measured=2 * good.measured)
    for check, refused in (((good, good, bad), True), ((good,) * 6 + (bad,), False), ((good,) * 3, False)):
        judged = refuse_by_check(replace(found, check=check))
        assert all(item.refused for item in judged.predictions) == refused
        if refused:
            (first, *_) = judged.predictions[0].refusals
            assert first.cause == "application"
            assert first.sentence.startswith(
                "of 3 measured machines that could be predicted from the others, 1"
            )
            assert np.isnan(judged.expected_error)
