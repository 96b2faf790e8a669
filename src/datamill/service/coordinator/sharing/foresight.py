"""When each experiment that waits will begin: the queue of a machine, played forward. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from datamill.service.coordinator.sharing.fair_queue import Flow, charge, choose_turn

#: Turns of one machine that are played forward: beyond them nothing is said.
MOST_TURNS = 200


@dataclass(frozen=True, slots=True)
class Awaited:
    """An experiment at a machine: how many of its trials may go there, and how long one takes, in seconds.

    None says that nobody knows.
    """

    flow: Flow
    trials: int
    trial_s: float | None


def foresee_starts(awaited: Iterable[Awaited], clock_s: float, free_s: float) -> dict[int, float]:
    """Return the time from now at which each experiment gets its first turn on a machine, in seconds.

    `clock_s` is the machine's clock, `free_s` the time until it has ended what it does. An experiment that
    would wait for more than `MOST_TURNS` turns is left out, and so is one behind a trial of unknown time.
    """
    flows = {item.flow.experiment_id: item.flow for item in awaited}
    times = {item.flow.experiment_id: item.trial_s for item in awaited}
    left = {item.flow.experiment_id: item.trials for item in awaited if item.trials > 0}
    starts: dict[int, float] = {}
    now_s = free_s
    for _ in range(MOST_TURNS):
        if not left.keys() - starts.keys():
            break
        turn = choose_turn((flows[number] for number in left), clock_s)
        assert turn is not None, "somebody is left"
        number = turn.flow.experiment_id
        starts.setdefault(number, now_s)
        clock_s = turn.start_s
        trial_s = times[number]
        if trial_s is None:
            break
        now_s += trial_s
        left[number] -= 1
        if not left[number]:
            del left[number]
        _pay(flows, number, turn.start_s, turn.inner_start_s, trial_s)
    return starts


def _pay(flows: dict[int, Flow], number: int, start_s: float, inner_start_s: float, held_s: float) -> None:
    """Charge a turn to an experiment and its user, whose other experiments have the user's tags as well."""
    served = flows[number]
    user_virtual_s = charge(served.user_virtual_s, start_s, held_s, served.share)
    for other, flow in flows.items():
        if flow.user_id == served.user_id:
            flows[other] = replace(flow, user_virtual_s=user_virtual_s, user_clock_s=inner_start_s)
    virtual_s = charge(served.virtual_s, inner_start_s, held_s, served.priority)
    flows[number] = replace(flows[number], virtual_s=virtual_s)


def find_earliest(starts: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Return when each experiment begins anywhere, given when it begins on each machine."""
    earliest: dict[int, float] = {}
    for machine in starts:
        for number, start_s in machine.items():
            earliest[number] = min(start_s, earliest.get(number, start_s))
    return earliest
