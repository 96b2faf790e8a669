"""The judge: knows what every simulated machine truly did, and holds the coordinator's tables against it.

It reads the tables past Django and shares no code with the coordinator: one mistake cannot hide another.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from datamill.service.messages import Orders

#: What reports say that are sent in another's name.
FORGED = "forged by another"

Read = Callable[..., list[tuple[Any, ...]]]

OPEN = ("leased", "taken")
ENDED_TRIALS = ("counted", "given_up", "cancelled")
ENDED_EXPERIMENTS = ("completed", "cancelled")
#: Ends of an attempt that the event table must tell of.
FAULTY_ENDS = ("lost", "faulty", "refused", "late")


@dataclass(slots=True)
class Made:
    """A record that a machine really produced."""

    worker_id: str
    record: bytes
    damaged: bool


@dataclass(slots=True)
class Seen:
    """What the tables said last time."""

    attempts: dict[str, tuple[str, int]] = field(default_factory=dict)
    counted: dict[int, tuple[str, str]] = field(default_factory=dict)
    experiments: dict[int, str] = field(default_factory=dict)
    workers: dict[str, str] = field(default_factory=dict)
    quarantined: frozenset[str] = frozenset()
    events: list[str] = field(default_factory=list)
    last_event: int = 0


class Oracle:
    """Notes what happens, and returns what is wrong as sentences."""

    def __init__(self, read: Read, now_s: Callable[[], float]) -> None:
        self._read = read
        self._now_s = now_s
        self.violations: list[str] = []
        self.executions = 0
        #: Workers whose identity two machines share.
        self.cloned: set[str] = set()
        self._running: dict[str, str] = {}
        self._made: dict[str, list[Made]] = defaultdict(list)
        self._spooled: dict[str, set[str]] = defaultdict(set)
        self._receipts: set[tuple[str, str]] = set()
        self._ordered: dict[str, str] = {}
        self._orders: dict[str, tuple[int, bytes]] = {}
        self._planned: dict[int, tuple[set[str], int]] = {}
        self._skewed: set[str] = set()
        self._garbage: set[str] = set()
        #: Sessions of workers in the order in which they began; those that truly parted; those told of.
        self._sessions: dict[str, list[str]] = defaultdict(list)
        self._parted: set[str] = set()
        self._greeted: set[str] = set()
        self._dismissed: set[str] = set()
        self._seen = Seen()

    def object(self, sentence: str) -> None:
        if sentence not in self.violations:
            self.violations.append(sentence)

    # What machines do.

    def execution_began(self, machine: str, worker_id: str, attempt: str) -> None:
        if machine in self._running:
            self.object(f"{machine} makes {attempt} while it makes {self._running[machine]}")
        if self._ordered.get(attempt) != worker_id:
            self.object(f"{worker_id} makes {attempt}, which was not ordered of it")
        self._running[machine] = attempt
        self.executions += 1

    def execution_ended(
        self, machine: str, worker_id: str, attempt: str, record: bytes, *, damaged: bool
    ) -> None:
        self._running.pop(machine, None)
        self._made[attempt].append(Made(worker_id, record, damaged))

    def execution_broke_off(self, machine: str) -> None:
        self._running.pop(machine, None)

    def record_spooled(self, machine: str, attempt: str) -> None:
        self._spooled[machine].add(attempt)

    def receipt_obeyed(self, worker_id: str, attempt: str) -> None:
        """A worker forgets a report because of a receipt: the database must have ended the attempt."""
        self._receipts.add((worker_id, attempt))
        rows = self._read("SELECT state FROM datamill_attempt WHERE key = ?", (attempt,))
        if not rows or rows[0][0] in OPEN:
            self.object(
                f"{worker_id} got a receipt for {attempt}, which is {rows[0][0] if rows else 'unknown'}"
            )

    def attempt_given_up(self, attempt: str) -> None:
        self._running = {machine: made for machine, made in self._running.items() if made != attempt}

    def disk_wiped(self, machine: str) -> None:
        self._spooled.pop(machine, None)

    def session_began(self, worker_id: str, session: str) -> None:
        self._sessions[worker_id].append(session)

    def session_parted(self, session: str) -> None:
        self._parted.add(session)

    # What the coordinator is told and tells.

    def session_told(self, worker_id: str, kind: str, session: str) -> None:
        """A hello or a goodbye of a session is in the database."""
        if kind == "hello":
            self._greeted.add(session)
            if not session:
                # A worker of an earlier version says no more than that it is there.
                self._dismissed.difference_update(self._sessions[worker_id])
        elif kind == "goodbye" and self._greeted.intersection(self._sessions[worker_id][-1:]) == {session}:
            # No other had begun, and its hello was there before.
            self._dismissed.add(session)

    def experiment_planned(self, experiment_id: int, trials: set[str], most_attempts: int) -> None:
        self._planned[experiment_id] = (trials, most_attempts)

    def skewed_hello_ingested(self, worker_id: str) -> None:
        self._skewed.add(worker_id)

    def garbage_ingested(self, worker_id: str) -> None:
        self._garbage.add(worker_id)

    def orders_published(self, worker_id: str, sequence: int, payload: bytes) -> None:
        orders = msgspec.json.decode(payload, type=Orders)
        before, content = self._orders.get(worker_id, (0, b""))
        if orders.sequence != sequence:
            self.object(f"orders {orders.sequence} of {worker_id} were called {sequence}")
        if sequence < before:
            self.object(f"orders of {worker_id} went back from {before} to {sequence}")
        if sequence == before and payload != content:
            self.object(f"orders {sequence} of {worker_id} were published with two contents")
        self._orders[worker_id] = (sequence, payload)
        if orders.lease is not None:
            attempt = orders.lease.attempt
            if self._ordered.setdefault(attempt, worker_id) != worker_id:
                self.object(f"{attempt} was ordered of {self._ordered[attempt]} and of {worker_id}")

    # After each step.

    def check_attempts(self, *, each_step: bool = True) -> None:
        """Compare attempts, trials, workers and experiments with what was, and with what machines did.

        `each_step` says that what was is what was a step ago, so that it tells what was allowed meanwhile.
        """
        seen = self._seen
        quarantined = frozenset(
            row[0] for row in self._read("SELECT sha256 FROM datamill_quarantine WHERE lifted_unix_s IS NULL")
        )
        experiments = dict(self._read("SELECT id, state FROM datamill_experiment"))
        workers = dict(self._read("SELECT worker_id, state FROM datamill_worker"))
        rows = self._read(
            "SELECT a.key, a.state, a.worker_id, a.trial_id, a.number, a.record, a.reason, t.state,"
            " t.experiment_id, t.trial_id, t.package_sha256, t.purpose"
            " FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id"
        )
        open_of_worker: dict[str, str] = {}
        open_of_trial: dict[int, str] = {}
        counted: dict[int, tuple[str, str]] = {}
        attempts: dict[str, tuple[str, int]] = {}
        for (
            key, state, worker_id, trial, number, record, reason, trial_state, experiment, trial_id,
            package, purpose,
        ) in rows:  # fmt: skip
            size = 0 if record is None else len(record)
            if FORGED in reason:
                self.object(f"{key} was ended by another worker: it is {state}")
            attempts[key] = (state, size)
            if state in OPEN:
                if worker_id in open_of_worker:
                    self.object(f"{worker_id} holds {key} and {open_of_worker[worker_id]}")
                if trial in open_of_trial:
                    self.object(f"{key} and {open_of_trial[trial]} are both under way")
                open_of_worker[worker_id], open_of_trial[trial] = key, key
                # Another attempt's late record may count, or the trial be cancelled, while one is under way.
                if trial_state not in ("leased", "counted", "cancelled"):
                    self.object(f"{key} is {state} and its trial {trial_state}")
            if self._ordered.get(key, worker_id) != worker_id:
                self.object(f"{key} was ordered of {self._ordered[key]} and is kept for {worker_id}")
            if state == "counted":
                digest = hashlib.sha256(record or b"").hexdigest()
                if trial in counted:
                    self.object(f"{key} and {counted[trial][0]} both count")
                counted[trial] = (key, digest)
                if seen.counted.get(trial) != (key, digest):
                    self._check_counted(key, worker_id, bytes(record or b""))
                if trial_state != "counted":
                    self.object(f"{key} counts and its trial is {trial_state}")
            before = seen.attempts.get(key)
            if before is None:
                now = experiments[experiment]
                self._check_name(key, number, experiment, trial_id)
                if each_step:
                    self._check_new(key, worker_id, number, experiment, trial_id, package, purpose, now)
            elif before[1] and not size:
                self.object(f"the record of {key} is gone")
            elif before[0] not in OPEN and state in OPEN:
                self.object(f"{key} was {before[0]} and is {state} again")
        for trial, was in seen.counted.items():
            if counted.get(trial) != was:
                self.object(f"{was[0]} counted, and now {counted.get(trial, ('nothing', ''))[0]} does")
        for key in seen.attempts.keys() - attempts.keys():
            self.object(f"{key} is gone")
        for experiment, state in seen.experiments.items():
            if state in ENDED_EXPERIMENTS and experiments.get(experiment) != state:
                self.object(f"experiment {experiment} was {state} and is {experiments.get(experiment)}")
        for worker_id, state in seen.workers.items():
            if state == "removed" and workers.get(worker_id) != state:
                self.object(f"{worker_id} was removed and is {workers.get(worker_id)}")
        seen.attempts, seen.counted = attempts, counted
        seen.experiments, seen.workers, seen.quarantined = experiments, workers, quarantined

    def _check_counted(self, key: str, worker_id: str, record: bytes) -> None:
        made = [item for item in self._made[key] if item.worker_id == worker_id]
        if not made:
            self.object(f"{key} counts, and {worker_id} never made it")
        elif not any(item.record == record and not item.damaged for item in made):
            self.object(f"the record of {key} that counts is none that {worker_id} made")

    def _check_name(self, key: str, number: int, experiment: int, trial_id: str) -> None:
        if key != f"{experiment}.{trial_id}.{number}":
            self.object(f"attempt {number} at trial {trial_id} of experiment {experiment} is called {key}")
        if experiment in self._planned and number > self._planned[experiment][1]:
            self.object(f"{key} is beyond the {self._planned[experiment][1]} attempts that there may be")

    def _check_new(
        self,
        key: str,
        worker_id: str,
        number: int,
        experiment: int,
        trial_id: str,
        package: str,
        purpose: str,
        now: str,
    ) -> None:
        seen = self._seen
        if number > 1 and f"{experiment}.{trial_id}.{number - 1}" not in seen.attempts:
            self.object(f"{key} was made without the attempt before it")
        if seen.experiments.get(experiment) in ENDED_EXPERIMENTS:
            self.object(f"{key} was leased though its experiment was {seen.experiments[experiment]}")
        if seen.experiments.get(experiment) == now == "debugging" and purpose == "design":
            self.object(f"{key} of the design was leased while its experiment was debugging")
        if seen.workers.get(worker_id) in ("drained", "removed"):
            self.object(f"{key} was leased to {worker_id}, which was {seen.workers[worker_id]}")
        if package in seen.quarantined:
            self.object(f"{key} was leased though its package was in quarantine")

    def check_sessions(self) -> None:
        """Who is away said so, and has not come back; who said so in time is away."""
        for worker_id, state, told, left_s in self._read(
            "SELECT worker_id, state, sessions, left_unix_s FROM datamill_worker WHERE state <> 'removed'"
        ):
            if worker_id in self.cloned or not told or not msgspec.json.decode(told):
                continue
            latest: str = msgspec.json.decode(told)[-1][1]
            began = self._sessions[worker_id]
            if latest not in began:
                self.object(f"{worker_id} has a session {latest!r}, which never began")
                continue
            after = began[began.index(latest) + 1 :]
            if left_s is None:
                if latest in self._dismissed and not after:
                    self.object(f"{worker_id} is {state} though it said goodbye in time")
            elif latest not in self._parted:
                self.object(f"{worker_id} counts as gone though its session goes on")
            elif self._greeted.intersection(after):
                self.object(f"{worker_id} counts as gone though it has said hello since")
            if state == "away" and left_s is None:
                self.object(f"{worker_id} is away and has not left")
            if state == "idle" and left_s is not None:
                self.object(f"{worker_id} is idle and has left")

    def check_events(self) -> None:
        """Read what is new in the account."""
        for number, *told in self._read(
            "SELECT id, unix_s, kind, user, worker_id, experiment_id, attempt, package_sha256, detail"
            " FROM datamill_event WHERE id > ? ORDER BY id",
            (self._seen.last_event,),
        ):
            self._seen.last_event = number
            self._seen.events.append(repr(told))

    def list_latest_events(self, most: int) -> list[str]:
        self.check_events()
        return self._seen.events[-most:]

    # At the end.

    def check_end(
        self, honest: dict[str, str], spools: dict[str, list[str]], orders: dict[str, tuple[int, bytes]]
    ) -> None:
        """Check what must hold once everything that could happen has.

        Args:
            honest: the worker of each machine that is up, whole and a member.
            spools: what still lies on their disks.
            orders: what the broker has for each worker.
        """
        self.check_attempts(each_step=False)
        self._check_trials()
        self._check_kept_records(honest, spools)
        for worker_id, sequence in self._read(
            "SELECT worker_id, orders_sequence FROM datamill_worker WHERE state <> 'removed'"
        ):
            if orders.get(worker_id, (0, b""))[0] != sequence:
                self.object(f"the broker does not have orders {sequence} of {worker_id}")
        for machine, left in spools.items():
            if left:
                self.object(f"{machine} got no receipt for {', '.join(left)}")
        self._check_account()

    def _check_trials(self) -> None:
        found: dict[int, dict[str, str]] = defaultdict(dict)
        rows = self._read(
            "SELECT t.experiment_id, t.trial_id, t.state, e.state,"
            " (SELECT COUNT(*) FROM datamill_attempt a WHERE a.trial_id = t.id AND a.state = 'counted')"
            " FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id"
        )
        for experiment, trial_id, state, experiment_state, counting in rows:
            found[experiment][trial_id] = state
            if (state == "counted") != (counting == 1):
                self.object(f"trial {experiment}.{trial_id} is {state} with {counting} records that count")
            if experiment_state in ENDED_EXPERIMENTS and state not in ENDED_TRIALS:
                self.object(f"experiment {experiment} is {experiment_state}, its trial {trial_id} {state}")
            if experiment_state not in ENDED_EXPERIMENTS:
                self.object(f"experiment {experiment} does not end: it is {experiment_state}")
        for experiment, (trials, _) in self._planned.items():
            missing = trials - found[experiment].keys()
            if missing:
                self.object(f"trials of experiment {experiment} are gone: {', '.join(sorted(missing))}")
        for experiment in found.keys() - self._planned.keys():
            self.object(f"experiment {experiment} was never submitted")

    def _check_kept_records(self, honest: dict[str, str], spools: dict[str, list[str]]) -> None:
        kept = {
            key: (state, None if record is None else bytes(record))
            for key, state, record in self._read("SELECT key, state, record FROM datamill_attempt")
        }
        for machine, attempts in self._spooled.items():
            worker_id = honest.get(machine)
            for attempt in attempts if worker_id else ():
                if (worker_id, attempt) not in self._receipts and attempt not in spools[machine]:
                    self.object(f"{worker_id} forgot its report of {attempt} without a receipt")
                records = [item.record for item in self._made[attempt] if not item.damaged]
                state, record = kept.get(attempt, ("unknown", None))
                if record not in records and state != "cancelled":
                    self.object(f"a record of {attempt} that {worker_id} made is lost: it is {state}")

    def _check_account(self) -> None:
        before, self._seen.events, self._seen.last_event = self._seen.events, [], 0
        self.check_events()
        if self._seen.events[: len(before)] != before:
            self.object("the account of events was changed")
        told = {
            (attempt, worker_id)
            for attempt, worker_id in self._read(
                "SELECT attempt, worker_id FROM datamill_event WHERE user != '' AND package_sha256 != ''"
            )
        }
        ends = defaultdict(set)
        for attempt, kind in self._read("SELECT attempt, kind FROM datamill_event WHERE attempt != ''"):
            ends[attempt].add(kind)
        for key, state, worker_id in self._read("SELECT key, state, worker_id FROM datamill_attempt"):
            if (key, worker_id) not in told:
                self.object(f"no event says for whom and with which package {worker_id} made {key}")
            if state in FAULTY_ENDS and not any(state in kind for kind in ends[key]):
                self.object(f"no event says that {key} is {state}, only {', '.join(sorted(ends[key]))}")
        told_of = defaultdict(set)
        for worker_id, kind in self._read("SELECT worker_id, kind FROM datamill_event WHERE worker_id != ''"):
            told_of[worker_id].add(kind)
        for worker_id in self._skewed:
            if self._seen.workers.get(worker_id) != "removed" and not any(
                "clock" in kind for kind in told_of[worker_id]
            ):
                self.object(f"no event says that the clock of {worker_id} is off")
        for worker_id in self._garbage:
            if not any("refus" in kind or "report" in kind for kind in told_of[worker_id]):
                self.object(f"no event says that a report of {worker_id} could not be used")
        for worker_id, state in self._read("SELECT worker_id, state FROM datamill_worker"):
            twins = "worker is two machines" in told_of[worker_id]
            if twins and worker_id not in self.cloned:
                self.object(f"{worker_id} is one machine and was taken for two")
            reasons = (state[:5], "two machines") if state == "drained" else (state,)
            if state in ("drained", "removed") and not any(
                reason in kind for kind in told_of[worker_id] for reason in reasons
            ):
                self.object(f"no event says that {worker_id} is {state}")
        for experiment, state in self._read("SELECT id, state FROM datamill_experiment"):
            rows = self._read("SELECT kind FROM datamill_event WHERE experiment_id = ?", (experiment,))
            if state in ENDED_EXPERIMENTS and not any(state[:6] in kind for (kind,) in rows):
                self.object(f"no event says that experiment {experiment} is {state}")
