from dataclasses import replace

import numpy as np

import datamill
from datamill.platforms.prediction.held_out import check_measured, summarize_check
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix

RANDOM = np.random.default_rng(5)
NAMES = tuple(f"m{place}" for place in range(8))
SPEEDS = np.exp(RANDOM.normal(size=(8, 1)) / 3 + RANDOM.normal(size=(8, 12)) / 20)
MATRIX = ScoreMatrix(NAMES, tuple(f"b{place}" for place in range(12)), SPEEDS, np.full((8, 12), np.nan))
TIMES = ApplicationTimes(
    "web", NAMES[:5], 9 * SPEEDS[:5, 3] ** 0.8 * SPEEDS[:5, 4] ** 0.2, np.full(5, np.nan)
)


def test_the_time_of_a_machine_takes_no_part_in_its_own_prediction() -> None:
    usual = check_measured(MATRIX, TIMES)
    poisoned = TIMES.seconds.copy()
    poisoned[2] *= 1000
    strange = check_measured(MATRIX, replace(TIMES, seconds=poisoned))
    assert [item.prediction.machine for item in usual.machines] == list(NAMES[:5])
    assert usual.machines[2].prediction == strange.machines[2].prediction
    assert usual.machines[1].prediction != strange.machines[1].prediction
    assert strange.machines[2].error < -0.99


def test_scores_are_checked_as_scores() -> None:
    check = check_measured(MATRIX, replace(TIMES, kind="score"))
    for item, seconds in zip(check.machines, TIMES.seconds, strict=True):
        assert item.measured == 1 / seconds
        assert abs(item.error) < 0.2


def test_two_machines_are_too_few_to_hold_one_out() -> None:
    few = replace(TIMES, machines=TIMES.machines[:2], seconds=TIMES.seconds[:2], noise=TIMES.noise[:2])
    assert check_measured(MATRIX, few).machines == ()


def test_an_application_that_every_machine_measured_is_fitted_from_its_check() -> None:
    suite = MATRIX.keep_machines(NAMES[:5])
    fitted = datamill.fit_platforms(suite, TIMES)
    assert fitted.prediction.predictions == ()
    assert fitted.prediction.trained == NAMES[:5]
    assert np.isclose(sum(item.share for item in fitted.prediction.benchmarks), 1)
    check = check_measured(suite, TIMES)
    errors = sorted(found.expected_error for found in check.predictions)
    assert summarize_check(check, TIMES).expected_error == errors[2]
    assert "Checked on the 5 machines that measured it" in fitted.lead[1]
