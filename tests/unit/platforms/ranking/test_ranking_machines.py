"""Candidates in the order of their speed."""

from __future__ import annotations

import numpy as np
import pytest
from made.suites import make_logs, split_suite

from datamill.experiment.errors import InputError
from datamill.platforms.ranking.rank_machines import rank_machines


def test_candidates_stand_by_their_predicted_times_measured_ones_among_them() -> None:
    matrix, application, _ = split_suite(make_logs(14, 16, 1, own=0.01, spread=0.1), 3, 6)
    found = rank_machines(matrix, application)
    seconds = [item.prediction.seconds for item in found.machines]
    assert seconds == sorted(seconds)
    assert sum(item.measured for item in found.machines) == 6
    assert len(found.machines) + len(found.refused) == 14
    assert sum(item.best for item in found.machines) == pytest.approx(1)


def test_two_measured_machines_are_in_the_right_order_for_sure() -> None:
    matrix, application, _ = split_suite(make_logs(10, 12, 2), 3, 6)
    found = rank_machines(matrix, application, candidates=["m0", "m1"])
    assert found.machines[0].before_next == pytest.approx(1)
    assert found.right_order == 1


def test_where_every_machine_measured_the_application_the_order_is_that_of_its_times() -> None:
    matrix, application, _ = split_suite(make_logs(8, 10, 3), 3, 8)
    found = rank_machines(matrix, application)
    times = dict(zip(application.machines, application.seconds, strict=True))
    assert [item.prediction.machine for item in found.machines] == sorted(times, key=times.__getitem__)
    assert all(item.measured for item in found.machines)
    assert (found.machines[0].best, found.right_order, found.refused) == (1.0, 1.0, ())


def test_probabilities_of_pairs_are_right_as_often_as_they_say() -> None:
    said, right = [], []
    for seed in range(12):
        logs = make_logs(12, 14, 100 + seed, own=0.05)
        matrix, application, times = split_suite(logs, 5, 6)
        truth = dict(zip(matrix.machines, times, strict=True))
        found = rank_machines(matrix, application, limit=5.0)
        for first, second in zip(found.machines, found.machines[1:], strict=False):
            if first.measured and second.measured:
                continue
            said.append(first.before_next)
            right.append(truth[first.prediction.machine] < truth[second.prediction.machine])
    assert len(said) > 80
    # Standard error of the difference: below 5 points for 80 pairs or more.
    assert np.mean(right) == pytest.approx(np.mean(said), abs=0.12)


def test_the_pairs_that_the_suites_mean_misorders_are_found() -> None:
    logs = make_logs(12, 16, 4, own=0.005, spread=0.3)
    matrix, application, times = split_suite(logs, 3, 6)
    level = np.log(matrix.seconds).mean(axis=1)
    found = rank_machines(matrix, application, limit=5.0)
    rows = {name: row for row, name in enumerate(matrix.machines)}
    assert found.misordered
    for pair in found.misordered:
        assert level[rows[pair.faster]] > level[rows[pair.slower]]
        assert pair.ratio > 1 > pair.suite_ratio
    sure = [pair for pair in found.misordered if pair.probability > 0.95]
    assert np.mean([times[rows[pair.faster]] < times[rows[pair.slower]] for pair in sure]) > 0.85


def test_prices_give_speed_per_price_relative_to_the_best() -> None:
    matrix, application, _ = split_suite(make_logs(8, 12, 5, own=0.01, spread=0.1), 3, 5)
    prices = {"m0": 100.0, "m6": 1.0}
    found = rank_machines(matrix, application, prices=prices, limit=5.0)
    values = {item.prediction.machine: item.value for item in found.machines}
    assert values["m6"] == 1
    assert values["m0"] < 1
    assert np.isnan(values["m1"])


def test_unknown_candidates_and_prices_that_are_none_are_refused() -> None:
    matrix, application, _ = split_suite(make_logs(8, 12, 6), 3, 5)
    with pytest.raises(InputError, match='no machine "m88"'):
        rank_machines(matrix, application, candidates=["m88", "m1"])
    with pytest.raises(InputError, match="price of m1"):
        rank_machines(matrix, application, prices={"m1": 0.0})
