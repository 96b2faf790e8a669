"""The simulated network between machines, broker and coordinator: late, lossy, and sometimes cut."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator
from random import Random

from simulation.scenario import FaultKind, Scenario
from simulation.timeline import Timeline
from simulation.wire.broker import Broker, BrokerDownError

#: What a simulated program waits for: seconds, or None until it is woken.
Waits = Generator[float | None, None, bool]


class Chances:
    """Whether a fault strikes on an occasion, and how often each has struck."""

    def __init__(self, scenario: Scenario, timeline: Timeline) -> None:
        self._chances = scenario.chances
        self._random = scenario.random("chances")
        self._timeline = timeline
        self.faults_end_s = timeline.now_s + scenario.faults_end_s
        self.struck: Counter[FaultKind] = Counter()

    def strikes(self, kind: FaultKind) -> bool:
        chance = self._chances.get(kind, 0.0)
        if chance == 0.0 or self._timeline.now_s >= self.faults_end_s or self._random.random() >= chance:
            return False
        self.struck[kind] += 1
        return True


class Network:
    """Carries messages. A partition is of one machine and cuts it off from broker and coordinator alike."""

    def __init__(self, timeline: Timeline, broker: Broker, chances: Chances, random: Random) -> None:
        self._timeline = timeline
        self._broker = broker
        self._chances = chances
        self._random = random
        self.partitioned: set[str] = set()
        self.cuts: dict[str, int] = {}
        self.revoked: set[str] = set()
        #: The latest reports of each worker: somebody may have heard them.
        self.sent: dict[str, deque[bytes]] = defaultdict(lambda: deque(maxlen=20))
        self.coordinator_up: Callable[[], bool] = lambda: False
        self.give_status: Callable[[str, bytes], None] = lambda _worker_id, _payload: None
        self.store_file: Callable[[str, str, int], None] = lambda _worker_id, _sha256, _bytes: None

    def latency_s(self) -> float:
        return 0.001 + 0.05 * self._random.random()

    def reaches_broker(self, machine: str, worker_id: str) -> bool:
        return self._broker.up and machine not in self.partitioned and worker_id not in self.revoked

    def connect(self, machine: str) -> tuple[int, int]:
        """Return what tells a machine's connections apart: what broke one makes the next another."""
        return self._broker.starts, self.cuts.get(machine, 0)

    def cut(self, machine: str) -> None:
        """Partition a machine."""
        self.partitioned.add(machine)
        self.cuts[machine] = self.cuts.get(machine, 0) + 1

    def send_report(self, machine: str, worker_id: str, payload: bytes) -> Waits:
        """Publish on a worker's subject; return whether it went out: nobody tells what became of it."""
        yield self.latency_s()
        if not self.reaches_broker(machine, worker_id):
            return False
        if self._chances.strikes("report_lost"):
            return True
        if self._chances.strikes("report_late"):
            self._pass_later(worker_id, payload, self._random.uniform(1.0, 5000.0))
            return True
        self._pass(worker_id, payload)
        if self._chances.strikes("report_twice"):
            self._pass_later(worker_id, payload, self._random.uniform(0.0, 5000.0))
        return True

    def send_forgery(self, worker_id: str, payload: bytes) -> None:
        """Publish what no honest agent would, on the subject that its credential allows."""
        self._pass(worker_id, payload)

    def send_status(self, machine: str, worker_id: str, payload: bytes) -> None:
        """Tell the coordinator something, if it happens to listen."""
        if not self.reaches_broker(machine, worker_id) or self._chances.strikes("status_lost"):
            return
        delay_s = self.latency_s()
        if self._chances.strikes("status_late"):
            delay_s += self._random.uniform(1.0, 3000.0)
        self._timeline.after(delay_s, "status", lambda: self.give_status(worker_id, payload))

    def reaches_files(self, machine: str) -> bool:
        """Whether a request to the coordinator's file store would be answered now."""
        if machine in self.partitioned or not self.coordinator_up():
            return False
        return not self._chances.strikes("upload_failed")

    def _pass(self, worker_id: str, payload: bytes) -> None:
        self.sent[worker_id].append(payload)
        with contextlib.suppress(BrokerDownError):
            self._broker.publish_report(worker_id, payload)

    def _pass_later(self, worker_id: str, payload: bytes, delay_s: float) -> None:
        self._timeline.after(delay_s, "late report", lambda: self._pass(worker_id, payload))
