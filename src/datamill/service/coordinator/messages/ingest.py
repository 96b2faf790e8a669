"""Reports of workers become facts: each once, whatever is repeated, late or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from datamill.protocol.trial import TrialRecord
from datamill.service.coordinator.joining.enrolment import MOST_POLICY_BYTES, describe_clock
from datamill.service.coordinator.leasing.entries import AttemptEntry, WorkerEntry
from datamill.service.coordinator.leasing.leases import decode_planned_trial, has_collect
from datamill.service.coordinator.leasing.ledger import Ledger
from datamill.service.coordinator.messages.artifacts import ArtifactBook
from datamill.service.coordinator.messages.chatter import limit_chatter
from datamill.service.coordinator.messages.record_checks import explain_host_failure, find_fault
from datamill.service.coordinator.messages.refusals import RefusalBook
from datamill.service.coordinator.messages.report_forms import (
    GaveUpForm,
    GoodbyeForm,
    HelloForm,
    OutputForm,
    RecordForm,
    RefusedForm,
    ReportForm,
    TakenForm,
    decode_report,
    find_attempt_key,
)
from datamill.service.coordinator.presence.machines import MachineBook
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events, clean_text
from datamill.service.models import Attempt, OutputPiece
from datamill.service.states import OPEN_ATTEMPTS, AttemptState, TrialPurpose, WorkerState

_RECORD = msgspec.json.Decoder(TrialRecord)
#: Pieces of output that are kept of an attempt, and characters of each.
MOST_PIECES = 4096
MOST_PIECE_TEXT = 1 << 16
#: One with all factors has some 20 kB.
MOST_INVENTORY_BYTES = 1 << 20
#: States in which a record of an attempt is still news.
_AWAITED = (*OPEN_ATTEMPTS, AttemptState.LOST, AttemptState.CANCELLED)
#: Boots of a worker that are remembered.
_MOST_BOOTS = 8
_TWINS = (
    "two machines use its identity: give one of them its own state folder, with its own token, then resume it"
)
#: Refusals that another worker may not repeat, and which this one would.
_LASTING = ("policy", "version", "factor")
#: Refusals that this worker need not repeat after a while.
_PASSING = ("disk", "file")


@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """A message as it came: the worker whose subject it was on, and its bytes."""

    worker_id_of_subject: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a batch did: workers that may get a lease now, and why reports were refused, one sentence each."""

    worker_ids: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()


def ingest_reports(reports: Sequence[ReceivedReport], now_s: float) -> Ingested:
    """Take in reports in the order in which they came; all of them are in the database on return, or refused.

    A report that was taken in before changes nothing but that its worker gets another receipt.

    Raises:
        django.db.OperationalError: when the database cannot be reached; the batch is to be given again.
    """
    if not reports:
        return Ingested()
    try:
        with transaction.atomic():
            return _Batch(Ledger(now_s), RefusalBook(now_s)).ingest(reports)
    except (msgspec.MsgspecError, DatabaseError, ValueError, OverflowError, RecursionError) as error:
        if _is_outage(error):
            raise
        if len(reports) == 1:
            return _refuse(reports[0], f"{type(error).__name__}: {error}", now_s)
    # One of them is poison: it must not keep the others out.
    parts = [ingest_reports([report], now_s) for report in reports]
    return Ingested(
        frozenset().union(*(part.worker_ids for part in parts)),
        tuple(reason for part in parts for reason in part.refused),
    )


def _is_outage(error: Exception) -> bool:
    return isinstance(error, OperationalError | InterfaceError)


def _is_another_record(attempt: AttemptEntry, raw: bytes) -> bool:
    """Tell whether a record differs from the one that counted: who repeats a report repeats its record."""
    stored = Attempt.objects.filter(pk=attempt.id).values_list("record", flat=True).first()
    try:
        return stored is not None and _RECORD.decode(raw) != _RECORD.decode(bytes(stored))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # Whatever it is, no machine measured it.
        return False


def _refuse(report: ReceivedReport, reason: str, now_s: float) -> Ingested:
    worker_id = clean_text(report.worker_id_of_subject, 16)
    refusals = RefusalBook(now_s)
    with transaction.atomic():
        refusals.add(worker_id, reason)
        add_events(refusals.events, now_s)
    return Ingested(refused=tuple(refusals.sentences))


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch of reports."""

    ledger: Ledger
    refusals: RefusalBook
    artifacts: ArtifactBook = field(default_factory=ArtifactBook)
    machines: MachineBook = field(default_factory=MachineBook)
    pieces: dict[tuple[int, int], OutputPiece] = field(default_factory=dict)

    def ingest(self, reports: Sequence[ReceivedReport]) -> Ingested:
        """Take in all of them."""
        decoded = [(report.worker_id_of_subject, *decode_report(report.payload)) for report in reports]
        ledger = self.ledger
        ledger.load_workers({worker_id for worker_id, _, _ in decoded})
        keys = {key for _, form, _ in decoded if form for key in form.content.list_keys()}
        keys.update(
            key
            for (_, form, _), report in zip(decoded, reports, strict=True)
            if form is None and (key := find_attempt_key(report.payload))
        )
        ledger.load_attempts("a.key IN {list}", sorted(keys))
        saying_hello = {
            worker_id for worker_id, form, _ in decoded if form and isinstance(form.content, HelloForm)
        }
        coming_or_going = saying_hello | {
            worker_id for worker_id, form, _ in decoded if form and isinstance(form.content, GoodbyeForm)
        }
        ledger.load_attempts(
            "a.state IN ('leased', 'taken') AND a.worker_id IN {list}", sorted(coming_or_going)
        )
        self.machines.load(saying_hello)
        # Workers of other attempts at the same trials take no part; those of the attempts themselves do.
        ledger.load_workers({entry.worker_id for entry in ledger.attempts.values()})
        self.artifacts.load(
            artifact.sha256
            for _, form, _ in decoded
            if form and isinstance(form.content, RecordForm)
            for artifact in form.content.artifacts
        )
        for (worker_id, form, fault), report in zip(decoded, reports, strict=True):
            worker = ledger.workers.get(worker_id)
            if worker is None:
                self._refuse(worker_id, "no such worker")
            elif form is None:
                self._take_unreadable(worker, find_attempt_key(report.payload), fault)
            elif form.worker_id != worker_id:
                self._refuse(worker_id, f"it claims to be of {clean_text(form.worker_id, 16)}")
            else:
                self._take_report(worker, form)
        ledger.events[:] = limit_chatter(ledger.events, ledger.now_s)
        ledger.events.extend(self.refusals.events)
        ledger.write()
        self.artifacts.write()
        self.machines.write()
        OutputPiece.objects.bulk_create(self.pieces.values(), ignore_conflicts=True)
        free = {
            worker_id
            for worker_id, _, _ in decoded
            if (entry := ledger.workers.get(worker_id)) and entry.state == WorkerState.IDLE
        }
        return Ingested(frozenset(free), tuple(self.refusals.sentences))

    def _refuse(self, worker_id: str, reason: str) -> None:
        worker = self.ledger.workers.get(worker_id)
        if self.refusals.add(worker_id, reason) and worker is not None:
            self.ledger.drain_abuser(worker, "it sends too many reports that are of no use")

    def _take_unreadable(self, worker: WorkerEntry, key: str, fault: str) -> None:
        """A report that cannot be read ends the attempt that it names: it would be no better again."""
        attempt = self._find_attempt(worker, key)
        self._refuse(worker.worker_id, f"{key}: {fault}" if key else fault)
        if attempt is not None and attempt.is_open:
            self.ledger.fail(attempt, AttemptState.FAULTY, fault)
        if key and not self._is_anothers(worker, key):
            self.ledger.give_receipt(worker, [clean_text(key, 64)])

    def _find_attempt(self, worker: WorkerEntry, key: str) -> AttemptEntry | None:
        entry = self.ledger.attempts.get(key)
        return entry if entry is not None and entry.worker_id == worker.worker_id else None

    def _is_anothers(self, worker: WorkerEntry, key: str) -> bool:
        """Whether an attempt is another worker's: of those no receipt is given, and nothing is believed."""
        entry = self.ledger.attempts.get(key)
        return entry is not None and entry.worker_id != worker.worker_id

    def _take_report(self, worker: WorkerEntry, form: ReportForm) -> None:
        ledger, content = self.ledger, form.content
        if worker.state != WorkerState.REMOVED:
            ledger.hear(worker)
            self._note_boot_and_clock(worker, form)
        if isinstance(content, HelloForm):
            self._take_hello(worker, content, form.clock_unix_ns)
            return
        if isinstance(content, GoodbyeForm):
            if worker.state != WorkerState.REMOVED:
                ledger.part(worker, content.session)
            return
        attempt = self._find_attempt(worker, content.attempt)
        if self._is_anothers(worker, content.attempt):
            self._refuse(
                worker.worker_id, f"{clean_text(content.attempt, 64)} is an attempt of another worker"
            )
            return
        if isinstance(content, TakenForm):
            if attempt is not None:
                ledger.take(attempt, form.clock_unix_ns)
            return
        if isinstance(content, OutputForm):
            self._take_output(attempt, content)
            return
        ledger.give_receipt(worker, [clean_text(content.attempt, 64)])
        if attempt is None:
            self._refuse(worker.worker_id, f"it has no attempt {clean_text(content.attempt, 64)}")
        elif isinstance(content, RecordForm):
            self._take_record(worker, attempt, content)
        elif not attempt.is_open:
            return
        elif isinstance(content, RefusedForm):
            ledger.fail(
                attempt,
                AttemptState.REFUSED,
                f"{content.reason}: {content.message}",
                elsewhere=content.reason in _LASTING,
                blameless=content.reason == "policy",
                rest=content.reason in _PASSING,
            )
        else:
            assert isinstance(content, GaveUpForm)
            ledger.fail(attempt, AttemptState.LOST, content.message)

    def _note_boot_and_clock(self, worker: WorkerEntry, form: ReportForm) -> None:
        boot_id = clean_text(form.boot_id, 64)
        # A report of an earlier boot may have been under way for long, and clocks go back: neither shows that
        # two machines bear one identity. Two different records of one attempt do.
        if boot_id not in worker.earlier_boots and boot_id != worker.boot_id:
            earlier = [*worker.earlier_boots, worker.boot_id]
            worker.earlier_boots = [boot for boot in earlier if boot][-_MOST_BOOTS:]
            worker.boot_id, worker.boot_clock_ns = boot_id, form.clock_unix_ns
            self.ledger.events.append(
                NewEvent(EventKind.REBOOTED, worker_id=worker.worker_id, detail=f"It is in boot {boot_id}.")
            )
        offset_s = form.clock_unix_ns / 1e9 - self.ledger.now_s
        self.ledger.events.extend(describe_clock(worker.worker_id, worker.clock_offset_s, offset_s))
        worker.clock_offset_s = offset_s

    def _take_record(self, worker: WorkerEntry, attempt: AttemptEntry, content: RecordForm) -> None:
        if attempt.state not in _AWAITED:
            if attempt.state == AttemptState.COUNTED and _is_another_record(attempt, bytes(content.record)):
                self.ledger.drain(worker, _TWINS, EventKind.TWINS)
            self.ledger.events.append(
                NewEvent(
                    EventKind.REPEATED, worker_id=worker.worker_id, attempt=attempt.key, detail=attempt.state
                )
            )
            return
        raw = bytes(content.record)
        try:
            record = _RECORD.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._refuse(worker.worker_id, f"{attempt.key}: its record cannot be read: {error}")
            self.ledger.fail(
                attempt, AttemptState.FAULTY, f"its record cannot be read: {error}", record=raw,
                rebooted=content.rebooted,
            )  # fmt: skip
            return
        trial = attempt.trial
        fault = find_fault(
            record,
            experiment=trial.experiment,
            trial=decode_planned_trial(trial.plan),
            attempt=attempt.number,
            package_sha256=trial.package_sha256,
            purpose=trial.purpose,
            has_collect=record.collect is not None or has_collect(trial.experiment_id, trial.package_sha256),
        ) or self.artifacts.find_fault(worker.worker_id, trial.purpose, record.outcome, content.artifacts)
        if fault:
            self._refuse(worker.worker_id, f"{attempt.key}: {fault}")
        else:
            self.artifacts.add(attempt.id, content.artifacts)
            fault = explain_host_failure(record)
        if fault:
            self.ledger.fail(
                attempt, AttemptState.FAULTY, fault, outcome=record.outcome, record=raw,
                rebooted=content.rebooted,
            )  # fmt: skip
        else:
            self.ledger.count(attempt, record.outcome, raw, rebooted=content.rebooted, failure=record.failure)

    def _take_hello(self, worker: WorkerEntry, content: HelloForm, clock_ns: int) -> None:
        """A worker without the attempt that it had taken has lost it, and may forget those that are over."""
        ledger = self.ledger
        if worker.state == WorkerState.REMOVED:
            self._refuse(worker.worker_id, "it was removed from the fleet")
            return
        ledger.greet(worker, content.session)
        # A worker that says hello waits for its orders, which name its session.
        worker.new_orders = True
        told = bytes(content.inventory)
        if len(told) > MOST_INVENTORY_BYTES:
            self._refuse(worker.worker_id, f"its inventory has {len(told)} bytes")
        elif len(policy := msgspec.json.encode(content.policy)) > MOST_POLICY_BYTES:
            self._refuse(worker.worker_id, f"its policy has {len(policy)} bytes")
        else:
            self.machines.note(ledger, worker, told, content.policy)
        held = [clean_text(key, 64) for key in content.attempts]
        over = []
        for key in held:
            entry = self._find_attempt(worker, key)
            if self._is_anothers(worker, key):
                self._refuse(worker.worker_id, f"{key} is an attempt of another worker")
            elif entry is None or entry.state not in _AWAITED:
                over.append(key)
            elif entry.is_open:
                ledger.take(entry, clock_ns)
            # The report of one that was lost is on its way: it may count, and gets its receipt then.
        ledger.give_receipt(worker, over)
        current = ledger.find_open_attempt(worker.worker_id)
        if current is None or current.key in held or current.state != AttemptState.TAKEN:
            return
        # A hello may have been under way for long: only one from after the taking tells of its end.
        if current.taken_clock_ns is not None and clock_ns > current.taken_clock_ns:
            ledger.fail(current, AttemptState.LOST, "its worker came back without it")

    def _take_output(self, attempt: AttemptEntry | None, content: OutputForm) -> None:
        if attempt is None or attempt.trial.purpose != TrialPurpose.DEBUG:
            return
        if 0 <= content.number < MOST_PIECES:
            self.pieces.setdefault(
                (attempt.id, content.number),
                OutputPiece(
                    attempt_id=attempt.id,
                    number=content.number,
                    phase=clean_text(content.phase, 16),
                    text=clean_text(content.text, MOST_PIECE_TEXT),
                ),
            )
