"""The judge: knows what every simulated machine truly did, and holds the coordinator's tables against it.

It reads the tables past Django and shares no code with the coordinator: one mistake cannot hide another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from simulation.evidence.plans import Plan
from simulation.evidence.tables import (
    ENDED_EXPERIMENTS,
    ENDED_TRIALS,
    OPEN,
    Read,
    Tables,
    TrialRow,
    read_tables,
)
from simulation.judges.account_judge import check_account
from simulation.judges.cause_judge import CauseJudge
from simulation.judges.lease_judge import LeaseJudge
from simulation.judges.look_judge import LookJudge
from simulation.judges.place_judge import PlaceJudge
from simulation.judges.share_judge import ShareJudge
from simulation.judges.stage_judge import StageJudge
from simulation.judges.stop_judge import StopJudge
from simulation.users.experiments import Submitted

from datamill.protocol.fleet import ArtifactFile, Inventory, Lease, Orders, Policy

#: What reports say that are sent in another's name.
FORGED = "forged by another"


@dataclass(slots=True)
class Made:
    """A record that a machine really produced."""

    worker_id: str
    record: bytes
    damaged: bool


class Oracle:
    """Notes what happens, and returns what is wrong as sentences."""

    def __init__(
        self, read: Read, now_s: Callable[[], float], count_changes: Callable[[], int] = lambda: 0
    ) -> None:
        self._read = read
        self._count_changes = count_changes
        self._changes = -1
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
        self._judged: set[tuple[str, bytes]] = set()
        self._unjudged: list[tuple[str, Lease]] = []
        self._skewed: set[str] = set()
        self._garbage: set[str] = set()
        self._spoilt: set[tuple[str, str]] = set()
        #: Sessions of workers in the order in which they began; those that truly parted; those told of.
        self._sessions: dict[str, list[str]] = defaultdict(list)
        self._parted: set[str] = set()
        self._greeted: set[str] = set()
        self._dismissed: set[str] = set()
        #: Workers that lie: what they say of their own nobody can tell from the truth.
        self.hostile: set[str] = set()
        self._tables = Tables()
        self._counted: dict[int, tuple[str, bytes]] = {}
        self._seen_events: list[str] = []
        self._last_event = 0
        self._stepped = False
        self.leases = LeaseJudge(read, self.object)
        self.causes = CauseJudge(read, self.object)
        self._places = PlaceJudge(self.leases.plans, self.object)
        self._shares = ShareJudge(self.leases.plans, self.object)
        self._looks = LookJudge(read, self.leases.plans, self.object)
        self._stages = StageJudge(read, self.leases.plans, self.object)
        self._stops = StopJudge(read, self.leases.plans, self.object, self._looks)

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
        self,
        machine: str,
        worker_id: str,
        attempt: str,
        record: bytes,
        artifacts: Sequence[ArtifactFile],
        *,
        damaged: bool,
    ) -> None:
        self._running.pop(machine, None)
        self._made[attempt].append(Made(worker_id, record, damaged))
        self.leases.produced[attempt] += artifacts

    def record_forged(self, worker_id: str, attempt: str, record: bytes, *, sound: bool) -> None:
        """A worker tells a record that it did not make; nobody can tell a sound one from the truth."""
        self._made[attempt].append(Made(worker_id, record, damaged=not sound))

    def execution_broke_off(self, machine: str) -> None:
        self._running.pop(machine, None)

    def record_spooled(self, machine: str, attempt: str) -> None:
        self._spooled[machine].add(attempt)

    def receipt_obeyed(self, worker_id: str, attempt: str) -> None:
        """A worker forgets a report because of a receipt: the database must have ended the attempt."""
        self._receipts.add((worker_id, attempt))
        rows = self._read("SELECT state FROM datamill_attempt WHERE key = ?", (attempt,))
        if (not rows or rows[0][0] in OPEN) and worker_id not in self.hostile:
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

    def experiment_planned(self, experiment_id: int, submitted: Submitted) -> None:
        self.leases.plans[experiment_id] = Plan(submitted)

    def joined(self, worker_id: str, inventory: Inventory, policy: Policy) -> None:
        self.causes.joined(worker_id, inventory, policy)

    def stepped(self) -> None:
        """The coordinator took a whole step, and nothing of it failed."""
        self._stepped = True

    def skewed_hello_ingested(self, worker_id: str) -> None:
        self._skewed.add(worker_id)

    def garbage_ingested(self, worker_id: str, attempt: str = "") -> None:
        """A report that cannot be read came from a worker; the attempt that it names is at its mercy."""
        self._garbage.add(worker_id)
        self._spoilt.add((worker_id, attempt))

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
            if (attempt, payload) not in self._judged:
                self._judged.add((attempt, payload))
                self._unjudged.append((worker_id, orders.lease))

    # After each step.

    def check_tables(self, *, each_step: bool = True) -> None:
        """Compare attempts, trials, workers and experiments with what was, and with what machines did.

        `each_step` says that what was is what was a step ago, so that it tells what was allowed meanwhile.
        """
        before = self._tables
        changes = self._count_changes()
        after = before if changes == self._changes else read_tables(self._read, before)
        self._changes = changes
        open_of_worker: dict[str, str] = {}
        open_of_trial: dict[int, str] = {}
        counted: dict[int, str] = {}
        for key, row in after.attempts.items():
            trial = after.trials[row.trial]
            if FORGED in row.reason and row.worker_id not in self.hostile:
                self.object(f"{key} was ended by another worker: it is {row.state}")
            if row.state in OPEN:
                if row.worker_id in open_of_worker:
                    self.object(f"{row.worker_id} holds {key} and {open_of_worker[row.worker_id]}")
                if row.trial in open_of_trial:
                    self.object(f"{key} and {open_of_trial[row.trial]} are both under way")
                open_of_worker[row.worker_id], open_of_trial[row.trial] = key, key
                # Another attempt's late record may count, or the trial be cancelled, while one is under way.
                if trial.state not in ("leased", "counted", "cancelled"):
                    self.object(f"{key} is {row.state} and its trial {trial.state}")
            if self._ordered.get(key, row.worker_id) != row.worker_id:
                self.object(f"{key} was ordered of {self._ordered[key]} and is kept for {row.worker_id}")
            if row.state == "counted":
                if row.trial in counted:
                    self.object(f"{key} and {counted[row.trial]} both count")
                counted[row.trial] = key
                if trial.state != "counted":
                    self.object(f"{key} counts and its trial is {trial.state}")
            was = before.attempts.get(key)
            if was is None:
                self._check_name(key, row.number, trial)
                if each_step:
                    self._check_new(key, row.worker_id, row.number, before, after, trial)
            elif was.record_bytes and not row.record_bytes:
                self.object(f"the record of {key} is gone")
            elif was.state not in OPEN and row.state in OPEN:
                self.object(f"{key} was {was.state} and is {row.state} again")
        self._check_counted(counted)
        self._check_kept(before, after)
        self._looks.judge(before, after)
        self._stops.judge(before, after)
        self._stages.judge(after)
        self._shares.judge(before, after, self._now_s(), each_step=each_step)
        if each_step:
            moved = self._places.judge(before, after, self._now_s(), stepped=self._stepped)
            self.leases.moved.update(
                (after.trials[row].experiment, after.trials[row].trial_id) for row in moved
            )
            self.causes.judge(before, after, self._now_s())
        else:
            self.causes.forget()
        for worker_id, lease in self._unjudged:
            self.leases.judge(worker_id, lease, saw_moves=each_step)
        self._unjudged.clear()
        self._tables, self._stepped = after, False

    def _check_counted(self, counted: dict[int, str]) -> None:
        """What counts was made by whom it is kept for, and counts for ever."""
        for trial, key in counted.items():
            if trial not in self._counted:
                ((worker_id, record),) = self._read(
                    "SELECT worker_id, record FROM datamill_attempt WHERE key = ?", (key,)
                )
                self._counted[trial] = (key, bytes(record or b""))
                self._check_made(key, worker_id, bytes(record or b""))
        for trial, (key, _) in self._counted.items():
            if counted.get(trial) != key:
                self.object(f"{key} counted, and now {counted.get(trial, 'nothing')} does")

    def _check_kept(self, before: Tables, after: Tables) -> None:
        for key in before.attempts.keys() - after.attempts.keys():
            self.object(f"{key} is gone")
        for experiment, state in before.experiments.items():
            if state in ENDED_EXPERIMENTS and after.experiments.get(experiment) != state:
                self.object(f"experiment {experiment} was {state} and is {after.experiments.get(experiment)}")
        for worker_id, worker in before.workers.items():
            now = after.workers.get(worker_id)
            if worker.state == "removed" and (now is None or now.state != "removed"):
                self.object(f"{worker_id} was removed and is {now and now.state}")

    def _check_made(self, key: str, worker_id: str, record: bytes) -> None:
        made = [item for item in self._made[key] if item.worker_id == worker_id]
        if not made:
            self.object(f"{key} counts, and {worker_id} never made it")
        elif not any(item.record == record and not item.damaged for item in made):
            self.object(f"the record of {key} that counts is none that {worker_id} made")

    def _check_name(self, key: str, number: int, trial: TrialRow) -> None:
        if key != f"{trial.experiment}.{trial.trial_id}.{number}":
            self.object(f"attempt {number} at trial {trial.experiment}.{trial.trial_id} is called {key}")
        plan = self.leases.plans.get(trial.experiment)
        if plan and number > plan.experiment.fleet.most_attempts:
            self.object(f"{key} is beyond the {plan.experiment.fleet.most_attempts} attempts that may be")

    def _check_new(
        self, key: str, worker_id: str, number: int, before: Tables, after: Tables, trial: TrialRow
    ) -> None:
        was, now = before.experiments.get(trial.experiment), after.experiments[trial.experiment]
        if number > 1 and f"{trial.experiment}.{trial.trial_id}.{number - 1}" not in before.attempts:
            self.object(f"{key} was made without the attempt before it")
        if was in ENDED_EXPERIMENTS:
            self.object(f"{key} was leased though its experiment was {was}")
        if was == now == "debugging" and trial.purpose == "design":
            self.object(f"{key} of the design was leased while its experiment was debugging")
        worker = before.workers.get(worker_id)
        if worker is not None and worker.state in ("drained", "removed"):
            self.object(f"{key} was leased to {worker_id}, which was {worker.state}")
        plan = self.leases.plans.get(trial.experiment)
        files = plan.list_files(trial.trial_id).keys() if plan else {trial.package}
        if files & before.quarantined & after.quarantined:
            self.object(f"{key} was leased though a file of it was in quarantine")

    def check_sessions(self) -> None:
        """Who is away said so, and has not come back; who said so in time is away."""
        for worker_id, state, told, left_s in self._read(
            "SELECT worker_id, state, sessions, left_unix_s FROM datamill_worker WHERE state <> 'removed'"
        ):
            if worker_id in self.cloned | self.hostile or not told or not msgspec.json.decode(told):
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
            (self._last_event,),
        ):
            self._last_event = number
            self._seen_events.append(repr(told))

    def list_latest_events(self, most: int) -> list[str]:
        self.check_events()
        return self._seen_events[-most:]

    # At the end.

    def check_end(
        self, honest: dict[str, str], spools: dict[str, list[str]], orders: dict[str, bytes]
    ) -> None:
        """Check what must hold once everything that could happen has.

        Args:
            honest: the worker of each machine that is up, whole and a member.
            spools: what still lies on their disks.
            orders: what was published last for each worker.
        """
        self.check_tables(each_step=False)
        self._check_trials()
        self._looks.check_end(self._tables)
        self._stages.check_end(self._tables)
        for key, record in self._counted.values():
            kept = self._read("SELECT record FROM datamill_attempt WHERE key = ?", (key,))
            if kept != [(record,)]:
                self.object(f"the record of {key} that counts has changed")
        self._check_kept_records(honest, spools)
        for worker_id, sequence in self._read(
            "SELECT worker_id, orders_sequence FROM datamill_worker WHERE state <> 'removed'"
        ):
            told = orders.get(worker_id)
            if told is None or msgspec.json.decode(told)["sequence"] != sequence:
                self.object(f"orders {sequence} of {worker_id} were never published")
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
        for experiment, plan in self.leases.plans.items():
            for what, names in (
                ("are gone", plan.trials.keys() - found[experiment].keys()),
                ("were never planned", found[experiment].keys() - plan.trials.keys()),
            ):
                if names:
                    self.object(f"trials of experiment {experiment} {what}: {', '.join(sorted(names))}")
        for experiment in found.keys() - self.leases.plans.keys():
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
                is_spoilt = state == "faulty" and (worker_id, attempt) in self._spoilt
                if record not in records and state != "cancelled" and not is_spoilt:
                    self.object(f"a record of {attempt} that {worker_id} made is lost: it is {state}")

    def _check_account(self) -> None:
        before, self._seen_events, self._last_event = self._seen_events, [], 0
        self.check_events()
        if self._seen_events[: len(before)] != before:
            self.object("the account of events was changed")
        check_account(
            self._read, self.object, self._tables.workers, self._skewed, self._garbage,
            self.cloned | self.hostile,
        )  # fmt: skip
