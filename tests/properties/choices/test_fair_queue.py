"""The queue of a machine keeps its promise whoever comes and goes, whatever their trials take."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running.nightly import choose_count
from simulation.shares.fluid import Promise

from datamill.service.coordinator.sharing.fair_queue import Flow, charge, choose_turn, weigh_user
from datamill.service.coordinator.sharing.foresight import Awaited, find_earliest, foresee_starts

SHARES = st.floats(0.1, 10.0)


@dataclass
class Account:
    virtual_s: float = 0.0
    clock_s: float = 0.0
    received_s: float = 0.0
    longest_s: float = 0.0


@dataclass
class Machine:
    """One machine of which experiments of users have turns, and what each got over its share."""

    shares: dict[int, float]
    #: Experiment -> its user and its priority.
    asked: dict[int, tuple[int, float]]
    clock_s: float = 0.0
    users: dict[int, Account] = field(default_factory=lambda: defaultdict(Account))
    experiments: dict[int, Account] = field(default_factory=lambda: defaultdict(Account))

    def serve(self, waiting: set[int], held_s: float) -> int:
        flows = [
            Flow(
                number, user, self.shares[user], priority, self.users[user].virtual_s,
                self.users[user].clock_s, self.experiments[number].virtual_s,
            )
            for number, (user, priority) in self.asked.items() if number in waiting
        ]  # fmt: skip
        turn = choose_turn(flows, self.clock_s)
        assert turn is not None
        flow, user = turn.flow, self.users[turn.flow.user_id]
        self.clock_s, user.clock_s = turn.start_s, turn.inner_start_s
        for account, start_s, share in (
            (user, turn.start_s, flow.share),
            (self.experiments[flow.experiment_id], turn.inner_start_s, flow.priority),
        ):
            account.virtual_s = charge(account.virtual_s, start_s, held_s, share)
            account.received_s += held_s / share
            account.longest_s = max(account.longest_s, held_s / share)
        return flow.experiment_id


@given(
    shares=st.lists(SHARES, min_size=1, max_size=4),
    priorities=st.lists(st.tuples(st.integers(0, 3), SHARES), min_size=1, max_size=7),
    seed=st.integers(0, 2**32),
)
def test_two_who_wait_are_never_further_apart_than_a_turn_of_each(
    shares: list[float], priorities: list[tuple[int, float]], seed: int
) -> None:
    random = Random(seed)
    users = dict(enumerate(shares))
    machine = Machine(users, {n: (user % len(shares), p) for n, (user, p) in enumerate(priorities)})
    lengths = {number: random.choice((1.0, 30.0, 5e5)) for number in machine.asked}
    waiting: set[int] = set()
    since: dict[tuple[str, int, int], float] = {}
    for _ in range(60):
        # Experiments come and go between turns.
        for number in machine.asked:
            if random.random() < 0.1:
                waiting ^= {number}
        if not waiting:
            since.clear()
            continue
        parties = [("user", n, machine.users[n]) for n in sorted({machine.asked[w][0] for w in waiting})]
        parties += [("experiment", n, machine.experiments[n]) for n in sorted(waiting)]
        pairs = {
            (kind, n, m): (one, other)
            for (kind, n, one), (other_kind, m, other) in combinations(parties, 2)
            if kind == other_kind and (kind == "user" or machine.asked[n][0] == machine.asked[m][0])
        }
        since = {pair: start for pair, start in since.items() if pair in pairs}
        for pair, (one, other) in pairs.items():
            apart_s = one.received_s - other.received_s
            start_s = since.setdefault(pair, apart_s)
            assert abs(apart_s - start_s) <= (one.longest_s + other.longest_s) * (1 + 1e-9) + 1e-6
        served = machine.serve(waiting, lengths[min(waiting)] * random.uniform(0.5, 1.0))
        assert served in waiting


def test_a_five_day_experiment_does_not_keep_a_newcomer_waiting() -> None:
    machine = Machine({0: 1.0, 1: 1.0}, {0: (0, 1.0), 1: (1, 1.0)})
    for _ in range(1000):
        assert machine.serve({0}, 432.0) == 0
    served = [machine.serve({0, 1}, 432.0) for _ in range(10)]
    assert served[0] == 1
    # Nor does the newcomer get what the other had before: both have half from now on, but for a turn.
    assert served.count(1) in (5, 6)


@pytest.mark.parametrize("seed", range(choose_count(20, 1000)))
def test_each_user_receives_what_was_promised_within_a_twentieth(seed: int) -> None:
    """Machine time of each user beside that of an ideal division, at every moment, among those who wait.

    The coordinator's own code does the same in `simulation.shares`, more slowly.
    """
    errors = _live(Random(seed)).list_errors(least_turns=30.0)
    assert errors
    assert {user: error for user, error in errors.items() if abs(error) > 0.05} == {}


def _live(random: Random) -> Promise:
    """Let users come and go at a machine with experiments of all lengths, until enough was promised."""
    shares = {user: random.choice((0.5, 1.0, 2.0, 3.0)) for user in range(random.choice((2, 3, 4)))}
    asked = {number: (number % len(shares), random.choice((0.2, 1.0, 5.0))) for number in range(7)}
    machine, lengths = Machine(shares, asked), {number: random.choice((20.0, 60.0)) for number in asked}
    promise, pauses = Promise(90.0), {number: random.randrange(0, 400) for number in asked if number > 3}
    for turn in range(1500):
        # The first four always wait, so that at least two users do; others pause for a while.
        waiting = {n for n in asked if n not in pauses or not pauses[n] <= turn < pauses[n] + 300}
        copied = Machine(shares, asked, machine.clock_s, _copy(machine.users), _copy(machine.experiments))
        held_s = lengths[copied.serve(waiting, 1.0)] * random.uniform(0.5, 1.5)
        user = asked[machine.serve(waiting, held_s)][0]
        promise.add("machine", str(user), {str(asked[n][0]): shares[asked[n][0]] for n in waiting}, held_s)
    return promise


def test_a_priority_moves_nothing_between_users() -> None:
    machine = Machine({0: 1.0, 1: 1.0}, {0: (0, 10.0), 1: (0, 0.1), 2: (1, 0.1)})
    served = [machine.serve({0, 1, 2}, 10.0) for _ in range(404)]
    assert abs(served.count(2) - 202) <= 1
    assert abs(served.count(0) - 200) <= 2


def test_it_is_time_that_is_divided_and_not_trials() -> None:
    machine = Machine({0: 1.0, 1: 1.0}, {0: (0, 1.0), 1: (1, 1.0)})
    turns = {0: 0, 1: 0}
    lengths = {0: 100.0, 1: 10.0}
    for _ in range(1100):
        # The time of a turn is known when it has ended: which of the two it is, is known before.
        number = Machine(machine.shares, machine.asked, machine.clock_s, _copy(machine.users),
                         _copy(machine.experiments)).serve({0, 1}, 1.0)  # fmt: skip
        assert machine.serve({0, 1}, lengths[number]) == number
        turns[number] += 1
    assert turns[1] / turns[0] == pytest.approx(10.0, rel=0.02)


def _copy(accounts: dict[int, Account]) -> dict[int, Account]:
    copied: dict[int, Account] = defaultdict(Account)
    for number, account in accounts.items():
        copied[number] = Account(account.virtual_s, account.clock_s, account.received_s, account.longest_s)
    return copied


def test_who_lends_machines_has_more() -> None:
    assert [weigh_user(1.0, lent) for lent in (0, 1, 3, 7)] == [1.0, 2.0, 3.0, 4.0]


@given(lengths=st.lists(st.floats(1.0, 1000.0), min_size=1, max_size=6), free_s=st.floats(0.0, 100.0))
def test_what_is_foreseen_happens_when_all_goes_as_expected(lengths: list[float], free_s: float) -> None:
    flows = [Flow(number, number % 3, 1.0 + number % 3) for number in range(len(lengths))]
    starts = foresee_starts([Awaited(flow, 5, lengths[flow.experiment_id]) for flow in flows], 0.0, free_s)
    machine = Machine(
        {user: 1.0 + user for user in range(3)}, {flow.experiment_id: (flow.user_id, 1.0) for flow in flows}
    )
    now_s, left, seen = free_s, dict.fromkeys(starts, 5), {}
    while left:
        copied = Machine(machine.shares, machine.asked, machine.clock_s, _copy(machine.users),
                         _copy(machine.experiments))  # fmt: skip
        number = copied.serve(set(left), 1.0)
        machine.serve(set(left), lengths[number])
        seen.setdefault(number, now_s)
        now_s += lengths[number]
        left[number] -= 1
        if not left[number]:
            del left[number]
    assert starts == pytest.approx(seen)
    assert find_earliest([starts, {0: 0.0}])[0] == 0.0


def test_nothing_is_foreseen_behind_a_trial_of_which_nobody_knows_how_long_it_takes() -> None:
    first, second = Flow(1, 1), Flow(2, 2)
    assert foresee_starts([Awaited(first, 3, None), Awaited(second, 3, 5.0)], 0.0, 7.0) == {1: 7.0}
