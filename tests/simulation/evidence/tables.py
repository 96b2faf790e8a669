"""The coordinator's tables at a moment, read past Django, for judges that compare two moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from datamill.protocol.fleet import Inventory, Policy

Read = Callable[..., list[tuple[Any, ...]]]

OPEN = ("leased", "taken")
ENDED_TRIALS = ("counted", "given_up", "cancelled")
ENDED_EXPERIMENTS = ("completed", "cancelled")
#: Ends of an attempt that speak against its worker.
FAILED = ("lost", "faulty", "refused")


class WorkerRow(NamedTuple):
    """A worker as the tables have it."""

    state: str
    reason: str
    inventory: bytes
    policy: bytes
    rests_until_s: float
    heard_s: float
    ended: int
    failed: int
    sessions: str
    left_s: float | None
    receipts: str
    boot_id: str
    clock_offset_s: float
    owner: int


class TrialRow(NamedTuple):
    """How far a trial is; `experiment_state` is its experiment's."""

    experiment: int
    trial_id: str
    worker_id: str
    state: str
    attempts: int
    package: str
    purpose: str
    experiment_state: str


class AttemptRow(NamedTuple):
    """How far an attempt is; `trial` is the trial's row."""

    state: str
    worker_id: str
    trial: int
    number: int
    reason: str
    deadline_s: float
    record_bytes: int
    share: float
    priority: float
    turn_s: float
    held_s: float | None


@dataclass(slots=True)
class Tables:
    """All rows that judges look at, by what names them."""

    workers: dict[str, WorkerRow] = field(default_factory=dict)
    trials: dict[int, TrialRow] = field(default_factory=dict)
    attempts: dict[str, AttemptRow] = field(default_factory=dict)
    experiments: dict[int, str] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)
    quarantined: frozenset[str] = frozenset()


def read_tables(read: Read, before: Tables) -> Tables:
    """Return what the tables say now; what is as it was before is the same row."""
    known = before.workers
    return Tables(
        {
            row[0]: known[row[0]] if known.get(row[0]) == row[1:] else WorkerRow._make(row[1:])
            for row in read(
                "SELECT worker_id, state, state_reason, inventory, policy, rests_until_unix_s, heard_unix_s,"
                " ended_attempts, failed_attempts, sessions, left_unix_s, receipts, boot_id, clock_offset_s,"
                " owner_id FROM datamill_worker"
            )
        },
        {
            row[0]: TrialRow._make(row[1:])
            for row in read(
                "SELECT t.id, t.experiment_id, t.trial_id, t.worker_id, t.state, t.attempts,"
                " t.package_sha256, t.purpose, e.state"
                " FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id"
            )
        },
        {
            row[0]: AttemptRow._make(row[1:])
            for row in read(
                "SELECT key, state, worker_id, trial_id, number, reason, deadline_unix_s,"
                " COALESCE(LENGTH(record), 0), share, priority, turn_unix_s, held_s"
                " FROM datamill_attempt ORDER BY id"
            )
        },
        dict(read("SELECT id, state FROM datamill_experiment")),
        dict(read("SELECT id, owner_id FROM datamill_experiment")),
        dict(read("SELECT user_id, share FROM datamill_usershare")),
        frozenset(
            row[0] for row in read("SELECT sha256 FROM datamill_quarantine WHERE lifted_unix_s IS NULL")
        ),
    )


@lru_cache(maxsize=4096)
def describe_hardware(inventory: bytes) -> tuple[object, ...]:
    """Return what two machines share that can stand in for each other."""
    told = msgspec.json.decode(inventory, type=Inventory)
    host = told.host
    return (
        host.arch, host.kernel, host.cpu_model, host.cores, host.memory_bytes, told.clock_khz, told.caches,
        told.distribution, told.compilers,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def read_policy(policy: bytes) -> Policy:
    """Return what an owner allows."""
    return msgspec.json.decode(policy, type=Policy)
