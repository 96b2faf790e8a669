"""The simulated broker: the latest orders of each worker, and a stream of reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: For how long the broker drops orders, and reports, whose id it has seen.
JOBS_WINDOW_S = 120.0
RESULTS_WINDOW_S = 0.1
#: Reports that the coordinator was given and did not acknowledge in this time are given to it again.
ACK_WAIT_S = 60.0
#: Largest message.
MOST_BYTES = 8 << 20

#: What a power cut takes: nothing (every message was synced), the newest messages, or all files.
Loss = Literal["nothing", "newest", "everything"]


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A message of the stream of reports; `subject_worker_id` is who may publish on its subject."""

    sequence: int
    subject_worker_id: str
    payload: bytes


class BrokerDownError(Exception):
    """The broker cannot be reached."""


class Broker:
    """Streams JOBS and RESULTS. Only a power cut loses what was accepted."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.up = True
        self.starts = 1
        self.jobs: dict[str, tuple[int, bytes]] = {}
        self._older_jobs: dict[str, tuple[int, bytes] | None] = {}
        self._results: dict[int, StoredReport] = {}
        self._given: dict[int, float] = {}
        self._acknowledged: set[int] = set()
        self._floor = 0
        self._last_sequence = 0
        self._ids: dict[str, float] = {}
        self._listeners: dict[str, dict[str, Callable[[], None]]] = {}

    def publish_orders(self, worker_id: str, sequence: int, payload: bytes) -> None:
        """Keep orders in place of the worker's earlier ones, and tell it if it is connected."""
        self._check_up()
        if self._is_duplicate(f"{worker_id}.{sequence}", JOBS_WINDOW_S):
            return
        self._older_jobs[worker_id] = self.jobs.get(worker_id)
        self.jobs[worker_id] = (sequence, payload)
        for hear in list(self._listeners.get(worker_id, {}).values()):
            hear()

    def listen(self, worker_id: str, machine: str, hear: Callable[[], None]) -> None:
        """Call `hear` when a worker has new orders; several machines may claim to be it."""
        self._listeners.setdefault(worker_id, {})[machine] = hear

    def stop_listening(self, worker_id: str, machine: str) -> None:
        self._listeners.get(worker_id, {}).pop(machine, None)

    def read_orders(self, worker_id: str) -> bytes | None:
        self._check_up()
        kept = self.jobs.get(worker_id)
        return kept[1] if kept else None

    def publish_report(self, worker_id: str, payload: bytes, message_id: str) -> bool:
        """Keep a report; return whether it is in the stream (False: larger than the broker takes)."""
        self._check_up()
        if len(payload) > MOST_BYTES:
            return False
        if message_id and self._is_duplicate(message_id, RESULTS_WINDOW_S):
            return True
        self._last_sequence += 1
        self._results[self._last_sequence] = StoredReport(self._last_sequence, worker_id, payload)
        return True

    def fetch_reports(self, most: int) -> list[StoredReport]:
        """Return reports that were not acknowledged, each again only after `ACK_WAIT_S`."""
        self._check_up()
        now_s = self._now()
        reports = []
        for sequence, report in self._results.items():
            if (
                sequence > self._floor
                and sequence not in self._acknowledged
                and now_s - self._given.get(sequence, -ACK_WAIT_S) >= ACK_WAIT_S
            ):
                self._given[sequence] = now_s
                reports.append(report)
                if len(reports) == most:
                    break
        return reports

    def acknowledge(self, reports: list[StoredReport]) -> None:
        self._check_up()
        self._acknowledged.update(report.sequence for report in reports)
        while self._floor + 1 in self._acknowledged:
            self._floor += 1
            self._acknowledged.discard(self._floor)
            self._results.pop(self._floor, None)
            self._given.pop(self._floor, None)

    @property
    def waiting(self) -> bool:
        """Whether there are reports that were not acknowledged."""
        return self._last_sequence > self._floor

    def restart(self) -> None:
        """Come up again: connections and what was under way are gone, the streams are there."""
        self.up = True
        self.starts += 1

    def go_down(self, loss: Loss) -> None:
        self.up = False
        self._listeners.clear()
        if loss == "newest":
            for worker_id, older in self._older_jobs.items():
                if older is None:
                    self.jobs.pop(worker_id, None)
                else:
                    self.jobs[worker_id] = older
            kept = sorted(self._results)[: len(self._results) // 2]
            self._results = {sequence: self._results[sequence] for sequence in kept}
            self._last_sequence = max(self._results, default=min(self._floor, self._last_sequence))
            # The server brings a consumer that is ahead of its stream back to the stream's end.
            self._floor = min(self._floor, self._last_sequence)
            self._acknowledged = {number for number in self._acknowledged if number <= self._last_sequence}
            self._given.clear()
        if loss == "everything":
            self.jobs.clear()
            self._results.clear()
            self._acknowledged.clear()
            self._last_sequence = self._floor = 0
        if loss != "nothing":
            self._ids.clear()
        self._older_jobs.clear()

    def _is_duplicate(self, message_id: str, window_s: float) -> bool:
        now_s = self._now()
        seen_s = self._ids.get(message_id)
        if seen_s is not None and now_s - seen_s < window_s:
            return True
        self._ids[message_id] = now_s
        return False

    def _check_up(self) -> None:
        if not self.up:
            raise BrokerDownError
