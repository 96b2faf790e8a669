"""Attempts as a batch changes them, with their workers: read at once, decided one by one, written at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from datamill.protocol.fleet import Session
from datamill.protocol.trial import Failure
from datamill.service.coordinator.leasing.dependents import NEEDED, EndedNeed, settle_dependents
from datamill.service.coordinator.leasing.entries import (
    ATTEMPT_FIELDS,
    SELECT_ATTEMPTS,
    AttemptEntry,
    TrialEntry,
    WorkerEntry,
)
from datamill.service.coordinator.leasing.moves import MovePlanner, describe_move
from datamill.service.coordinator.leasing.paces import CountedTrial, add_to_paces
from datamill.service.coordinator.leasing.standings import EndedTrial, judge_ended_trials
from datamill.service.coordinator.leasing.worker_ledger import WorkerLedger, name_session
from datamill.service.coordinator.sharing.accounts_of_time import EndedTurn, charge_turns
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events, clean_text
from datamill.service.coordinator.state.rows import execute_for, select_rows, update_rows
from datamill.service.models import Attempt, Trial
from datamill.service.states import AttemptState, ExperimentState, TrialPurpose, TrialState, WorkerState

#: Attempts that a trial's own worker makes before an equivalent one is asked.
OWN_ATTEMPTS = 2
#: Time without a lease, in seconds, of a worker that had no room for an attempt or could not get its files:
#: at once it would only fail again, and use up the trial's attempts before anyone could help.
LEAST_REST_S, MOST_REST_S = 60.0, 3600.0
#: Characters of a reason that a worker gives.
MOST_REASON = 1000
#: States in which an attempt says something about its worker: it failed for no fault of the package.
FAILURES = (AttemptState.LOST, AttemptState.FAULTY, AttemptState.REFUSED)


@dataclass(slots=True)
class Ledger(WorkerLedger):
    """What a batch changes, until `write` makes it so in few statements."""

    attempts: dict[str, AttemptEntry] = field(default_factory=dict)
    _trials: dict[int, TrialEntry] = field(default_factory=dict)
    _open: dict[str, AttemptEntry] = field(default_factory=dict)
    _ended: dict[int, tuple[object, ...]] = field(default_factory=dict)
    _taken: list[tuple[object, ...]] = field(default_factory=list)
    _counted: list[int] = field(default_factory=list)
    _paces: list[CountedTrial] = field(default_factory=list)
    _turns: list[EndedTurn] = field(default_factory=list)
    _retried: list[TrialEntry] = field(default_factory=list)
    _moving: list[TrialEntry] = field(default_factory=list)
    _needed: list[tuple[TrialEntry, bool, str]] = field(default_factory=list)
    _judged: list[EndedTrial] = field(default_factory=list)

    def load_attempts(self, condition: str, values: Iterable[object]) -> list[AttemptEntry]:
        """Read attempts that an SQL condition on `a` names, `{list}` standing for the values; return them."""
        found = []
        for row in select_rows(f"{SELECT_ATTEMPTS} WHERE {condition}", values):
            entry = self.attempts.get(row[1])
            if entry is None:
                of_trial = row[ATTEMPT_FIELDS:]
                trial = self._trials.get(of_trial[0])
                if trial is None:
                    trial = self._trials[of_trial[0]] = TrialEntry(*of_trial)
                key: tuple[Any, ...] = (*row[:ATTEMPT_FIELDS], trial)
                entry = AttemptEntry(*key)
                self.attempts[entry.key] = entry
                if entry.is_open:
                    self._open[entry.worker_id] = entry
            found.append(entry)
        return found

    def find_open_attempt(self, worker_id: str) -> AttemptEntry | None:
        """Return the attempt that holds a worker, of those that were read."""
        return self._open.get(worker_id)

    def take(self, attempt: AttemptEntry, clock_ns: int) -> None:
        """Note that an attempt is in its worker's journal; its time runs from now."""
        if attempt.state != AttemptState.LEASED:
            return
        attempt.deadline_s = self.now_s + (attempt.deadline_s - attempt.leased_s)
        attempt.state, attempt.taken_clock_ns = AttemptState.TAKEN, clock_ns
        self._taken.append((attempt.id, attempt.state, self.now_s, clock_ns, attempt.deadline_s))
        self._tell(EventKind.TAKEN, attempt)

    def count(
        self,
        attempt: AttemptEntry,
        outcome: str,
        record: bytes,
        *,
        rebooted: bool,
        failure: Failure | None = None,
    ) -> None:
        """Let an attempt's record be the trial's, or keep it as late when the trial has ended otherwise.

        `failure` is why a trial did not complete.
        """
        trial = attempt.trial
        ended = trial.state == TrialState.GIVEN_UP and trial.experiment_state == ExperimentState.COMPLETED
        cancelled = (
            attempt.state == AttemptState.CANCELLED
            or trial.state == TrialState.CANCELLED
            or trial.experiment_state == ExperimentState.CANCELLED
        )
        if trial.state == TrialState.COUNTED or cancelled or ended:
            self._end(attempt, AttemptState.LATE, "", outcome, record, rebooted=rebooted)
            return
        self._end(attempt, AttemptState.COUNTED, "", outcome, record, rebooted=rebooted)
        trial.state = TrialState.COUNTED
        self._counted.append(trial.id)
        if trial.purpose == TrialPurpose.DESIGN:
            self._paces.append(
                CountedTrial(trial.experiment_id, attempt.worker_id, attempt.leased_s, self.now_s)
            )
            self._judged.append(
                EndedTrial(
                    attempt.id,
                    trial.experiment_id,
                    trial.user,
                    trial.package_sha256,
                    attempt.worker_id,
                    trial.plan,
                    failure,
                )
            )
        if trial.purpose in NEEDED:
            why = failure.message if failure is not None else outcome
            self._needed.append((trial, outcome == "completed", why))

    def fail(
        self,
        attempt: AttemptEntry,
        state: AttemptState,
        reason: str,
        *,
        outcome: str = "",
        record: bytes | None = None,
        rebooted: bool = False,
        elsewhere: bool = False,
        blameless: bool = False,
        rest: bool = False,
    ) -> None:
        """End an attempt that gave no answer, and plan another one for its trial as far as there may be one.

        `elsewhere` asks for another worker at once; `blameless` says nothing against this one; with `rest` it
        gets no lease for a while, and the longer the more attempts the trial has had.
        """
        was_open = attempt.is_open
        self._end(attempt, state, reason, outcome, record, rebooted=rebooted, blameless=blameless)
        trial = attempt.trial
        if rest:
            rest_s = min(LEAST_REST_S * 5 ** (attempt.number - 1), MOST_REST_S)
            self.workers[attempt.worker_id].rests_until_s = self.now_s + rest_s
        if not was_open or trial.state != TrialState.LEASED:
            return
        if trial.stopped:
            trial.state = TrialState.CANCELLED
            self._retried.append(trial)
            return
        if trial.attempts >= trial.most_attempts:
            self.give_up(trial, f"its {trial.attempts} attempts failed; the last one: {reason}")
            return
        live = trial.experiment_state in (ExperimentState.DEBUGGING, ExperimentState.RUNNING)
        trial.state = TrialState.PLANNED if live else TrialState.WAITING
        self._retried.append(trial)
        if elsewhere or trial.attempts >= OWN_ATTEMPTS:
            self._moving.append(trial)

    def give_up(self, trial: TrialEntry, reason: str) -> None:
        """End a trial without a record that counts."""
        trial.state = TrialState.GIVEN_UP
        self._retried.append(trial)
        if trial.purpose in NEEDED:
            self._needed.append((trial, False, reason))
        self.events.append(
            NewEvent(
                EventKind.GIVEN_UP,
                user=trial.user,
                worker_id=trial.worker_id,
                experiment_id=trial.experiment_id,
                attempt=f"{trial.experiment_id}.{trial.trial_id}.{trial.attempts}",
                package_sha256=trial.package_sha256,
                detail=reason,
            )
        )

    def cancel(self, attempt: AttemptEntry, reason: str) -> None:
        """End an attempt that nobody wants any more and that its worker has not taken."""
        self._end(attempt, AttemptState.CANCELLED, reason, "", None, rebooted=False, blameless=True)

    def part(self, worker: WorkerEntry, session: Session) -> None:
        """Note that the latest session of a worker ended; the goodbye of any other comes too late.

        The latest is who said hello last and has the highest number: a hello may come behind that of a
        session which began after it. What it took stays its own, and is reported some day. What was ordered
        of it and not taken goes back, once: a worker that is stopped again and again must not use up the
        attempts of a trial that never ran, so that a later lease waits for it until its deadline.
        """
        ended = name_session(session)
        is_latest = worker.sessions[-1:] == [ended] and ended[0] == max(
            number for number, _ in worker.sessions
        )
        if not is_latest or worker.left_s is not None:
            return
        worker.left_s, worker.changed = self.now_s, True
        self.events.append(NewEvent(EventKind.LEFT, worker_id=worker.worker_id))
        attempt = self._open.get(worker.worker_id)
        if attempt is not None and attempt.state == AttemptState.LEASED and _may_go_back(attempt.trial):
            self.fail(attempt, AttemptState.CANCELLED, "its worker left before it took it", blameless=True)
        if worker.state == WorkerState.IDLE:
            worker.state, worker.reason = WorkerState.AWAY, ""

    def _end(
        self,
        attempt: AttemptEntry,
        state: AttemptState,
        reason: str,
        outcome: str,
        record: bytes | None,
        *,
        rebooted: bool,
        blameless: bool = False,
    ) -> None:
        was_open = attempt.is_open
        reason = clean_text(reason, MOST_REASON)
        attempt.state = state
        if was_open:
            self._charge(attempt)
        self._ended[attempt.id] = (
            attempt.id, state, reason, self.now_s, outcome, record, rebooted, attempt.held_s,
        )  # fmt: skip
        # Debug trials and builds are no part of the answer.
        is_apart = state == AttemptState.COUNTED and attempt.trial.purpose != TrialPurpose.DESIGN
        kind = EventKind.DONE if is_apart else EventKind(f"attempt {state}")
        self._tell(kind, attempt, reason or outcome)
        if not was_open:
            return
        self._open.pop(attempt.worker_id, None)
        worker = self.workers[attempt.worker_id]
        worker.new_orders = True
        if not blameless:
            worker.ended += 1
            worker.failed += state in FAILURES
        if worker.state == WorkerState.BUSY:
            worker.state = worker.free_state

    def _charge(self, attempt: AttemptEntry) -> None:
        """Note how long an attempt held its worker, however it ended: nobody else could have it meanwhile."""
        # A clock that was put back gives no time.
        attempt.held_s = max(0.0, self.now_s - attempt.leased_s)
        self._turns.append(
            EndedTurn(
                attempt.worker_id,
                attempt.trial.user_id,
                attempt.trial.experiment_id,
                attempt.held_s,
                attempt.start_s,
                attempt.inner_start_s,
                attempt.share,
                attempt.priority,
            )
        )

    def _tell(self, kind: EventKind, attempt: AttemptEntry, detail: str = "") -> None:
        trial = attempt.trial
        self.events.append(
            NewEvent(
                kind,
                trial.user,
                attempt.worker_id,
                trial.experiment_id,
                attempt.key,
                trial.package_sha256,
                detail,
            )
        )

    def write(self) -> None:
        """Write what was decided; the caller's transaction makes it so, or nothing of it."""
        update_rows(Attempt, ("state", "taken_unix_s", "taken_clock_ns", "deadline_unix_s"), self._taken)
        columns = ("state", "reason", "ended_unix_s", "outcome", "record", "rebooted", "held_s")
        update_rows(Attempt, columns, self._ended.values())
        execute_for("UPDATE datamill_trial SET state = 'counted' WHERE id IN {list}", self._counted)
        add_to_paces(self._paces)
        charge_turns(self._turns)
        self._move_trials()
        retried = {trial.id: trial for trial in self._retried}
        update_rows(
            Trial,
            ("state", "worker_id", "reboot"),
            [(trial.id, trial.state, trial.worker_id, trial.reboot) for trial in retried.values()],
        )
        self._settle_dependents()
        # Once all trials have their new states: some of them are cancelled now.
        self.events.extend(judge_ended_trials(self._judged, self.now_s))
        self.write_workers()
        add_events(self.events, self.now_s)

    def _move_trials(self) -> None:
        planner = MovePlanner()
        for trial in self._moving:
            if trial.state not in (TrialState.PLANNED, TrialState.WAITING):
                continue
            target = planner.find_target(trial.experiment_id, trial.worker_id, trial.package_sha256)
            if target is None:
                continue
            self.events.append(
                describe_move(trial.user, trial.experiment_id, trial.trial_id, trial.worker_id, target)
            )
            trial.worker_id = target
            trial.reboot = trial.reboot or trial.reboot_policy == "block"

    def _settle_dependents(self) -> None:
        """Let trials go that waited for a build or a profile, or end them where there will be none."""
        self.events += settle_dependents(
            EndedNeed(
                need.id,
                need.trial_id,
                need.purpose,
                need.experiment_id,
                need.experiment_state == ExperimentState.RUNNING,
                need.user,
                need.worker_id,
                need.package_sha256,
                done,
                reason,
            )
            for need, done, reason in self._needed
        )


def _may_go_back(trial: TrialEntry) -> bool:
    """Whether the end of its latest attempt would neither move a trial nor give it up."""
    return trial.attempts < min(OWN_ATTEMPTS, trial.most_attempts)
