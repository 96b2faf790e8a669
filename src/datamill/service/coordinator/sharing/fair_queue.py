"""Whose turn it is on a machine: start-time fair queueing by user, and within a user by experiment. Pure.

Each machine divides its own time, since trials are planned for machines and one does not stand in for
another. What is divided is the time that a machine is held, not a number of trials.

A user who waits has a *start tag*: machine time received there over the user's share, but no less than the
machine's *clock*, the start tag of what it served last. The smallest start tag goes first. So nobody saves up
time while not waiting, and who comes new does not have to make up for what others had before. Among the
experiments of that user the same rule holds with their priorities for shares and a clock of the user's own:
a priority moves nothing between users.

While two users A and B both wait for a machine, what they receive over their shares differs by at most
l_A / share_A + l_B / share_B, where l is the longest turn of each (Goyal, Vin and Cheng, "Start-time fair
queueing", IEEE/ACM Transactions on Networking 5, 1997, theorem 1). A turn is one trial, or a block of trials
between two reboots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: The share of a user of whom no administrator said anything, and the priority of such an experiment.
USUAL_SHARE = 1.0
USUAL_PRIORITY = 1.0


@dataclass(frozen=True, slots=True)
class Flow:
    """An experiment that waits for a machine, as the accounts of that machine have it.

    `share` is its user's, `priority` its own within that share. `user_virtual_s` and `virtual_s` are machine
    time over share, and over priority, in seconds; `user_clock_s` is the clock of the user's experiments.
    """

    experiment_id: int
    user_id: int
    share: float = USUAL_SHARE
    priority: float = USUAL_PRIORITY
    user_virtual_s: float = 0.0
    user_clock_s: float = 0.0
    virtual_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose turn it is, with the start tags of the user and of the experiment: the clocks from now on."""

    flow: Flow
    start_s: float
    inner_start_s: float


def choose_turn(flows: Iterable[Flow], clock_s: float) -> Turn | None:
    """Return whose turn it is on a machine whose clock is `clock_s`; None when nobody waits.

    Of equal start tags the one goes first who had less, then the older experiment.
    """
    chosen: Turn | None = None
    least: tuple[float, float, float, float, int] | None = None
    for flow in flows:
        start_s = max(flow.user_virtual_s, clock_s)
        inner_s = max(flow.virtual_s, flow.user_clock_s)
        place = (start_s, flow.user_virtual_s, inner_s, flow.virtual_s, flow.experiment_id)
        # Flows of one user have the user's tags in common, so that the user is chosen first.
        if least is None or place < least:
            least, chosen = place, Turn(flow, start_s, inner_s)
    return chosen


def weigh_user(own: float, lent_machines: int) -> float:
    """Return a user's share: what an administrator gave, and more the more machines the user lends.

    One machine adds a share, three add two, seven add three: each doubling adds another one.
    """
    return own + math.log2(1 + lent_machines)


def charge(virtual_s: float, start_s: float, held_s: float, share: float) -> float:
    """Return machine time over share after a turn: from its start tag on, `held_s` more.

    Trials of a block all have the start tag of its first one: what they had since counts.
    """
    return max(virtual_s, start_s) + held_s / share
