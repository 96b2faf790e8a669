"""Workers as a batch changes them: read at once, decided one by one, written at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from datamill.protocol.fleet import Session
from datamill.service.coordinator.joining.credentials import has_void_credential, void_credentials
from datamill.service.coordinator.leasing.entries import SELECT_WORKERS, WorkerEntry
from datamill.service.coordinator.state.events import EventKind, NewEvent, clean_text
from datamill.service.coordinator.state.rows import select_rows, update_rows
from datamill.service.models import FleetWorker
from datamill.service.states import WorkerState

#: Attempts of which a worker's account remembers half, so that old ones fade.
MOST_REMEMBERED = 1000
#: Receipts that orders name: more than a worker's disk can have reports that they answer.
MOST_RECEIPTS = 16
#: Characters of the identity of a session.
MOST_SESSION_NAME = 64
#: Sessions of a worker that are remembered, the latest last.
MOST_SESSIONS = 8


def name_session(session: Session) -> tuple[int, str]:
    """Return a session as it is kept."""
    return min(max(session.number, 0), 2**53), clean_text(session.id, MOST_SESSION_NAME)


@dataclass(slots=True)
class WorkerLedger:
    """What a batch changes of workers, and what happened, until `write_workers` writes the workers."""

    now_s: float
    workers: dict[str, WorkerEntry] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)

    def load_workers(self, worker_ids: Collection[str]) -> None:
        """Read workers."""
        wanted = [worker_id for worker_id in worker_ids if worker_id not in self.workers]
        for row in select_rows(f"{SELECT_WORKERS} WHERE worker_id IN {{list}}", wanted):
            entry = self.workers[row[0]] = WorkerEntry(*row)
            if isinstance(entry.receipts, str):
                entry.receipts = json.loads(entry.receipts)
            if isinstance(entry.earlier_boots, str):
                entry.earlier_boots = json.loads(entry.earlier_boots)
            entry.earlier_boots = entry.earlier_boots or []
            if isinstance(entry.sessions, str):
                entry.sessions = json.loads(entry.sessions)
            entry.sessions = [(number, name) for number, name in entry.sessions or []]

    def silence(self, worker_id: str, reason: str) -> None:
        """Note that a worker missed its deadline."""
        worker = self.workers[worker_id]
        if worker.state in (WorkerState.IDLE, WorkerState.BUSY):
            worker.state, worker.reason = WorkerState.SILENT, reason
            worker.new_orders = True
            self.events.append(NewEvent(EventKind.SILENT, worker_id=worker_id, detail=reason))

    def hear(self, worker: WorkerEntry) -> None:
        """Note that a worker is there."""
        worker.heard_s, worker.changed = self.now_s, True
        if worker.state == WorkerState.SILENT:
            worker.state, worker.reason, worker.new_orders = worker.free_state, "", True
            self.events.append(NewEvent(EventKind.HEARD, worker_id=worker.worker_id))

    def greet(self, worker: WorkerEntry, session: Session | None) -> None:
        """Note that a session of a worker began; one that is known may have ended since.

        A hello may be repeated, and come behind the goodbye of its session: a session never begins twice. One
        that is not known is there whatever its number: the disk that counts may have been put back.
        """
        is_first = not worker.sessions
        if session is not None:
            began = name_session(session)
            if began in worker.sessions:
                return
            worker.sessions = [*worker.sessions, began][-MOST_SESSIONS:]
        worker.left_s, worker.changed = None, True
        if worker.state == WorkerState.AWAY:
            worker.state, worker.reason = WorkerState.IDLE, ""
            if not is_first:
                self.events.append(NewEvent(EventKind.HEARD, worker_id=worker.worker_id))

    def drain(self, worker: WorkerEntry, reason: str, kind: EventKind = EventKind.DRAINED) -> None:
        """Give a worker no further trials until its owner looked at it."""
        if worker.state in (WorkerState.DRAINED, WorkerState.REMOVED):
            return
        worker.state, worker.reason, worker.new_orders = WorkerState.DRAINED, reason, True
        self.events.append(NewEvent(kind, worker_id=worker.worker_id, detail=reason))

    def drain_abuser(self, worker: WorkerEntry, reason: str) -> None:
        """Drain a worker and have the broker refuse it until its owner has looked.

        What one that is refused already has left behind gives no reason to refuse it anew: a later time
        would void the credential that it gets when it is resumed.
        """
        if has_void_credential(worker.worker_id):
            return
        self.drain(worker, reason)
        void_credentials([worker.worker_id], reason, self.now_s)

    def give_receipt(self, worker: WorkerEntry, keys: Iterable[str]) -> None:
        """Tell a worker with its next orders that it may forget reports."""
        new = list(keys)
        if not new:
            return
        kept = [key for key in worker.receipts if key not in new]
        worker.receipts = [*kept, *new][-MOST_RECEIPTS:]
        worker.new_orders = True

    def write_workers(self) -> None:
        """Write the workers; the caller's transaction makes it so."""
        columns = (
            "state", "state_reason", "boot_id", "clock_offset_s", "heard_unix_s", "ended_attempts",
            "failed_attempts", "receipts", "boot_clock_ns", "earlier_boots", "rests_until_unix_s",
            "sessions", "left_unix_s",
        )  # fmt: skip
        plain: list[tuple[object, ...]] = []
        ordered: list[tuple[object, ...]] = []
        for worker in self.workers.values():
            if worker.ended >= MOST_REMEMBERED:
                worker.ended, worker.failed = worker.ended // 2, worker.failed // 2
            if worker.changed or worker.new_orders:
                row = (
                    worker.worker_id, worker.state, worker.reason, worker.boot_id, worker.clock_offset_s,
                    worker.heard_s, worker.ended, worker.failed, json.dumps(worker.receipts),
                    worker.boot_clock_ns, json.dumps(worker.earlier_boots), worker.rests_until_s,
                    json.dumps(worker.sessions), worker.left_s,
                )  # fmt: skip
                (ordered if worker.new_orders else plain).append(row)
        update_rows(FleetWorker, columns, plain)
        update_rows(FleetWorker, columns, ordered, also="orders_sequence = orders_sequence + 1")
