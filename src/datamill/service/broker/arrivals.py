"""Reports that came and were not taken yet: bounded as a whole, and for each worker."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping

from datamill.service.coordinator.messages.ingest import ReceivedReport

#: Bounds of what waits, of all workers. What is beyond them is dropped; workers send it again.
MOST_BYTES = 256 << 20
MOST_MESSAGES = 200_000
#: Bounds of what waits of one worker: three of the largest reports, or the output of a debug trial.
MOST_BYTES_OF_WORKER = 24 << 20
MOST_MESSAGES_OF_WORKER = 512
#: What a message takes beside its payload, in bytes.
_OVERHEAD = 500


class Arrivals:
    """A queue in the order in which reports came, in which no worker takes the place of the others."""

    def __init__(self) -> None:
        self._queue: deque[ReceivedReport] = deque()
        self._bytes = 0
        self._bytes_of: Counter[str] = Counter()
        self._count_of: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._queue)

    def add(self, worker_id: str, payload: bytes) -> bool:
        """Let a report wait; return whether there is room for it."""
        size = len(payload) + _OVERHEAD
        if (
            self._count_of[worker_id] >= MOST_MESSAGES_OF_WORKER
            or self._bytes_of[worker_id] + size > MOST_BYTES_OF_WORKER
            or len(self._queue) >= MOST_MESSAGES
            or self._bytes + size > MOST_BYTES
        ):
            self._dropped[worker_id] += 1
            return False
        self._queue.append(ReceivedReport(worker_id, payload))
        self._bytes += size
        self._bytes_of[worker_id] += size
        self._count_of[worker_id] += 1
        return True

    def take(self, most: int) -> list[ReceivedReport]:
        """Take reports, the oldest first."""
        taken = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        for report in taken:
            size = len(report.payload) + _OVERHEAD
            self._bytes -= size
            self._bytes_of[report.worker_id_of_subject] -= size
            self._count_of[report.worker_id_of_subject] -= 1
        if not self._queue:
            self._bytes_of.clear()
            self._count_of.clear()
        return taken

    def take_dropped(self) -> Mapping[str, int]:
        """Return how many reports of which workers were dropped since this was last asked."""
        dropped, self._dropped = self._dropped, Counter()
        return dropped
