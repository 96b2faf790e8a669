"""Rows of a batch of reports: attempts with their trials, and workers, as they are read and then changed."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.service.states import OPEN_ATTEMPTS, WorkerState

#: Attempts with their trials, in the order of the fields of both.
SELECT_ATTEMPTS = """
SELECT a.id, a.key, a.number, a.worker_id, a.state, a.leased_unix_s, a.deadline_unix_s, a.taken_clock_ns,
    a.start_s, a.inner_start_s, a.share, a.priority, a.held_s,
    t.id, t.trial_id, t.purpose, t.worker_id, t.package_sha256, t.reboot, t.state, t.attempts, t.plan,
    e.id, e.name, e.state, e.reboot, e.most_attempts, e.owner_id, u.username, s.id IS NOT NULL
FROM datamill_attempt a
JOIN datamill_trial t ON t.id = a.trial_id
JOIN datamill_experiment e ON e.id = t.experiment_id
JOIN auth_user u ON u.id = e.owner_id
LEFT JOIN datamill_packagestanding s
    ON s.experiment_id = e.id AND s.package_sha256 = t.package_sha256 AND s.state = 'stopped'
"""
#: How many of these fields are the attempt's.
ATTEMPT_FIELDS = 13
#: Workers, in the order of their fields.
SELECT_WORKERS = """
SELECT worker_id, state, state_reason, boot_id, clock_offset_s, heard_unix_s, ended_attempts, failed_attempts,
    receipts, boot_clock_ns, earlier_boots, rests_until_unix_s, sessions, left_unix_s
FROM datamill_worker
"""


@dataclass(slots=True)
class TrialEntry:
    """A trial as far as its attempts concern it, with what they need of its experiment."""

    id: int
    trial_id: str
    purpose: str
    worker_id: str
    package_sha256: str
    reboot: bool
    state: str
    attempts: int
    plan: bytes
    experiment_id: int
    experiment: str
    experiment_state: str
    reboot_policy: str
    most_attempts: int
    user_id: int
    user: str
    stopped: bool  # its package


@dataclass(slots=True)
class AttemptEntry:
    """An attempt and its trial."""

    id: int
    key: str
    number: int
    worker_id: str
    state: str
    leased_s: float
    deadline_s: float
    taken_clock_ns: int | None
    start_s: float | None
    inner_start_s: float | None
    share: float | None
    priority: float | None
    held_s: float | None
    trial: TrialEntry

    @property
    def is_open(self) -> bool:
        """Whether it holds its worker."""
        return self.state in OPEN_ATTEMPTS


@dataclass(slots=True)
class WorkerEntry:
    """A worker as far as reports concern it."""

    worker_id: str
    state: str
    reason: str
    boot_id: str
    clock_offset_s: float
    heard_s: float
    ended: int
    failed: int
    receipts: list[str]
    boot_clock_ns: int | None
    earlier_boots: list[str]
    rests_until_s: float
    sessions: list[tuple[int, str]]
    left_s: float | None
    changed: bool = False
    new_orders: bool = False

    @property
    def free_state(self) -> WorkerState:
        """The state of this worker when no attempt holds it."""
        return WorkerState.IDLE if self.left_s is None else WorkerState.AWAY
