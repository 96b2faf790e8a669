"""Machines of the fleet."""

from __future__ import annotations

import msgspec


class WorkerLine(msgspec.Struct, frozen=True):
    """A machine of the fleet: `hardware` has its level in each dimension, `attempts` counts by state."""

    name: str
    worker_id: str
    owner: str
    state: str
    state_reason: str
    hardware: dict[str, str]
    clock_offset_s: float
    joined_unix_s: float
    heard_unix_s: float
    attempts: dict[str, int]


class WorkerDetail(WorkerLine, frozen=True):
    """A machine with all that it told of itself, and what its owner allows.

    `inventory` and `policy` are what its worker sent, in the worker's version of the protocol.
    """

    inventory: msgspec.Raw
    policy: msgspec.Raw
