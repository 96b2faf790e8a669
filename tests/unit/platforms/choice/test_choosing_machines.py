"""Machines to measure on, and benchmarks that others stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made.suites import make_logs, split_suite

from datamill.experiment.errors import InputError
from datamill.platforms.choice.choose_machines import choose_machines
from datamill.platforms.choice.shrink_suite import shrink_suite
from datamill.platforms.methods.variance_reduction import choose_greedily
from datamill.platforms.scores.score_matrix import ScoreMatrix


def make_matrix(logs: np.ndarray) -> ScoreMatrix:
    return split_suite(np.column_stack([logs, logs[:, 0]]), logs.shape[1], 2)[0]


def test_each_family_of_machines_gets_one_that_stands_for_it() -> None:
    random = np.random.default_rng(1)
    families = np.repeat(random.normal(0, 0.4, (4, 20)), 5, axis=0)
    logs = families + random.normal(0, 0.01, families.shape)
    chosen, left = choose_greedily(logs, 4)
    assert sorted(row // 5 for row in chosen) == [0, 1, 2, 3]
    assert list(left) == sorted(left, reverse=True)


def test_chosen_machines_predict_the_suite_better_than_random_ones() -> None:
    random = np.random.default_rng(2)
    families = np.repeat(random.normal(0, 0.4, (3, 16)), (12, 3, 3), axis=0)
    choice = choose_machines(make_matrix(families + random.normal(0, 0.02, families.shape)), 4)
    assert choice.expected_error < choice.random_error
    assert len(choice.machines) == 4


def test_machines_that_are_wanted_are_in_and_others_are_not() -> None:
    matrix = make_matrix(make_logs(12, 10, 3))
    choice = choose_machines(matrix, 3, always=["m5"], among=["m1", "m2", "m3"])
    names = [item.machine for item in choice.machines]
    assert names[0] == "m5"
    assert set(names[1:]) <= {"m1", "m2", "m3"}


def test_a_count_or_a_machine_that_cannot_be_is_refused() -> None:
    matrix = make_matrix(make_logs(6, 8, 4))
    with pytest.raises(InputError, match="cannot be chosen"):
        choose_machines(matrix, 7)
    with pytest.raises(InputError, match="cannot be chosen"):
        choose_machines(matrix, 0)
    with pytest.raises(InputError, match='no machine "m99"'):
        choose_machines(matrix, 2, always=["m99"])


def test_copies_of_benchmarks_are_redundant_and_a_lone_one_is_not() -> None:
    random = np.random.default_rng(5)
    base = random.normal(0, 0.3, (20, 2))
    copies = np.column_stack(
        [base[:, [0]] + random.normal(0, 0.01, (20, 4)), base[:, [1]] + random.normal(0, 0.01, (20, 4))]
    )
    logs = np.column_stack([copies, random.normal(0, 0.5, 20)]) + random.normal(0, 0.5, 20)[:, None]
    suite = shrink_suite(make_matrix(logs), loss=0.05)
    assert "b8" in suite.kept
    assert suite.badly[0].benchmark == "b8"
    assert len(suite.kept) <= 5
    assert all(item.median_error <= 0.05 for item in suite.left_out)


def test_too_few_machines_do_not_tell_what_is_redundant() -> None:
    with pytest.raises(InputError, match="4 machines"):
        shrink_suite(make_matrix(make_logs(3, 8, 6)))


def test_machines_of_a_suite_full_of_gaps_are_chosen_without_an_expected_error() -> None:
    matrix = make_matrix(make_logs(14, 12, 7))
    gaps = np.random.default_rng(7).random(matrix.seconds.shape) < 0.6
    choice = choose_machines(replace(matrix, seconds=np.where(gaps, np.nan, matrix.seconds)), 3)
    assert len(choice.machines) == 3
