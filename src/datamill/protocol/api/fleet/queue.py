"""The queue of the fleet: who waits for what, which share was promised and received, when it begins."""

from __future__ import annotations

from typing import Annotated

import msgspec

from datamill.protocol.api.fleet.stages import StageLine


class QueuedUser(msgspec.Struct, frozen=True):
    """A user of whom something waits for a machine, or is under way there.

    `own_share` is what an administrator gave, `share` that and one more for each doubling of the
    `lent_machines` that serve. `promised` is the part of the `machines` at which the user waits that the
    shares of all who wait there give, from 0 to 1. `promised_s` and `received_s` are machine time since the
    user last began to wait at each of these machines, without the turns under way; `held_s` is all that the
    user ever had.
    """

    user: str
    own_share: float
    lent_machines: int
    share: float
    machines: int
    promised: float
    promised_s: float
    received_s: float
    held_s: float


class QueuedExperiment(msgspec.Struct, frozen=True):
    """An experiment that has not ended; another's that you may not see has no name.

    `waits_for` says what lets its next trials go. `ready` may be lent now, `under_way` are, `later` wait
    for something else. `begins_s` is the expected time from now until its first trial that is ready begins,
    0 when one is under way, null when nothing is ready or there is no telling. `held_s` is its machine time.
    `stages` says the same of its builds, profiles and measuring trials, where it has more than one of these.
    """

    experiment: int
    name: str
    owner: str
    state: str
    priority: float
    waits_for: str
    ready: int
    under_way: int
    later: int
    machines: int
    begins_s: float | None
    held_s: float
    stages: tuple[StageLine, ...] = ()


class FleetQueue(msgspec.Struct, frozen=True):
    """All who wait, those with the largest share first, and what of them waits, the oldest first."""

    unix_s: float
    users: tuple[QueuedUser, ...]
    experiments: tuple[QueuedExperiment, ...]


class ShareRequest(msgspec.Struct, frozen=True):
    """A share for a user: 1 is the usual one."""

    share: Annotated[float, msgspec.Meta(ge=0.01, le=100.0)]


class UserShareLine(msgspec.Struct, frozen=True):
    """The share of a user: own, and with what comes for the machines that the user lends."""

    user: str
    own_share: float
    lent_machines: int
    share: float


class PriorityRequest(msgspec.Struct, frozen=True):
    """A priority for an experiment, among those of its owner: 1 is the usual one."""

    priority: Annotated[float, msgspec.Meta(ge=0.1, le=10.0)]
