"""The simulated broker: passes orders and reports on to those that are connected, and keeps none of them."""

from __future__ import annotations

from collections.abc import Callable

#: Largest message.
MOST_BYTES = 8 << 20


class BrokerDownError(Exception):
    """The broker cannot be reached."""


class Broker:
    """Subjects and who listens to them."""

    def __init__(self) -> None:
        self.up = True
        self.starts = 1
        #: What was published last for each worker, heard or not: for those who look on.
        self.jobs: dict[str, bytes] = {}
        #: Hears reports: the worker whose subject they came on, and their bytes.
        self.give_report: Callable[[str, bytes], None] = lambda _worker_id, _payload: None
        self._listeners: dict[str, dict[str, Callable[[bytes], None]]] = {}

    def publish_orders(self, worker_id: str, payload: bytes, *, is_lost: bool = False) -> None:
        """Pass orders on to the machines that listen; those on a route that broke are lost."""
        self._check_up()
        self.jobs[worker_id] = payload
        for hear in [] if is_lost else list(self._listeners.get(worker_id, {}).values()):
            hear(payload)

    def listen(self, worker_id: str, machine: str, hear: Callable[[bytes], None]) -> None:
        """Call `hear` with a worker's orders; several machines may claim to be it."""
        self._listeners.setdefault(worker_id, {})[machine] = hear

    def stop_listening(self, worker_id: str, machine: str) -> None:
        self._listeners.get(worker_id, {}).pop(machine, None)

    def publish_report(self, worker_id: str, payload: bytes) -> None:
        """Pass a report on to the coordinator, if it listens; nobody is told."""
        self._check_up()
        if len(payload) <= MOST_BYTES:
            self.give_report(worker_id, payload)

    def restart(self) -> None:
        """Come up again, without connections."""
        self.up = True
        self.starts += 1

    def go_down(self) -> None:
        self.up = False
        self._listeners.clear()

    def _check_up(self) -> None:
        if not self.up:
            raise BrokerDownError
