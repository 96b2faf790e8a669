"""The rules that drain workers, on counts alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from datamill.service.coordinator.presence.health_rules import (
    Account,
    compute_fisher_p,
    find_failing_workers,
    is_poison,
)


@st.composite
def accounts(draw: st.DrawFn) -> Account:
    ended = draw(st.integers(1, 400))
    return Account(ended, draw(st.integers(0, ended)))


@given(accounts(), accounts())
def test_the_chance_is_that_of_fishers_exact_test(one: Account, others: Account) -> None:
    table = [[one.failed, one.ended - one.failed], [others.failed, others.ended - others.failed]]
    expected = fisher_exact(table, alternative="greater").pvalue
    assert compute_fisher_p(one, others) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_twice_the_peers_rate_beyond_chance_is_failing() -> None:
    peers = {f"w{number}": Account(100, 5) for number in range(10)}
    assert find_failing_workers(peers | {"bad": Account(100, 20)}) == {
        "bad": "20 of its 100 attempts failed, of its peers' 50 of 1000"
    }


def test_less_than_twice_the_peers_rate_is_not_failing_however_sure() -> None:
    peers = {f"w{number}": Account(1000, 100) for number in range(10)}
    assert find_failing_workers(peers | {"bad": Account(1000, 190)}) == {}


def test_what_may_be_chance_is_not_failing() -> None:
    assert find_failing_workers({"a": Account(5, 3), "b": Account(5, 1)}) == {}


def test_two_failures_are_no_pattern_in_however_large_a_fleet() -> None:
    fleet = {f"w{number}": Account(1000, 0) for number in range(100)}
    assert find_failing_workers(fleet | {"new": Account(2, 2)}) == {}
    assert list(find_failing_workers(fleet | {"new": Account(3, 3)})) == ["new"]


def test_a_worker_alone_has_no_peers_to_be_worse_than() -> None:
    assert find_failing_workers({"only": Account(10, 10)}) == {}


def test_ten_thousand_workers_are_judged_in_a_blink() -> None:
    fleet = {f"w{number}": Account(1000, number % 40) for number in range(10_000)}
    start_s = time.process_time()
    failing = find_failing_workers(fleet)
    assert time.process_time() - start_s < 2.0
    assert all(fleet[worker].failed >= 39 for worker in failing)


@pytest.mark.parametrize(
    ("lost", "workers", "completed", "poison"),
    [(3, 2, 0, True), (2, 2, 0, False), (9, 1, 0, False), (9, 9, 1, False)],
)
def test_three_losses_on_two_workers_without_a_success_are_poison(
    lost: int, workers: int, completed: int, poison: bool
) -> None:
    assert is_poison(lost, workers, completed) is poison
