"""What the agent has on its disk: nothing is done before what says so is there (`durable.rs`, `spool.rs`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from datamill.protocol.fleet import Lease
from simulation.agent.endings import PowerCutError
from simulation.machines.made_records import encode_content

if TYPE_CHECKING:
    from simulation.machines.machine import Machine


class Journal(msgspec.Struct):
    """The attempt that was taken and is not reported yet."""

    lease: Lease
    stage: Literal["taken", "started"]
    starts: int
    taken_boot_id: str


class Seen(msgspec.Struct):
    """The newest orders that this worker has seen: older ones are void, also after a crash."""

    sequence: int = 0
    receipted: tuple[str, ...] = ()
    sessions: int = 0


class Durable:
    """The files of a machine's agent: the journal, the newest orders seen, and the spool of reports."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._disk = machine.disk

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that it is on the disk on return; power may fail just before or just after.

        Raises:
            DiskFullError: nothing was written.
        """
        self._disk.write(name, content)
        self._sync()

    def remove_journal(self) -> None:
        self._disk.remove("journal")
        self._sync()

    def _sync(self) -> None:
        if self._machine.chances.strikes("power_cut_at_sync"):
            raise PowerCutError
        self._disk.sync()
        if self._machine.chances.strikes("power_cut_at_sync"):
            raise PowerCutError

    def read_journal(self) -> Journal | None:
        content = self._disk.read("journal")
        return msgspec.json.decode(content, type=Journal) if content is not None else None

    def read_seen(self) -> Seen:
        content = self._disk.read("seen")
        return msgspec.json.decode(content, type=Seen) if content is not None else Seen()

    def is_spooled(self, attempt: str) -> bool:
        return self._disk.read(f"spool/{attempt}") is not None

    def list_spooled(self) -> list[str]:
        return sorted(name.removeprefix("spool/") for name in self._disk.list_names("spool/"))

    def read_spooled(self, attempt: str) -> bytes | None:
        return self._disk.read(f"spool/{attempt}")

    def remove_spooled(self, attempt: str) -> None:
        self._disk.remove(f"spool/{attempt}")
        self._sync()

    def give_up(self, attempt: str, message: str) -> None:
        """Spool the word that an attempt will have no record, and forget the attempt."""
        self._machine.watch.attempt_given_up(attempt)
        self.write(f"spool/{attempt}", encode_content("gave_up", {"attempt": attempt, "message": message}))
        self.remove_journal()
