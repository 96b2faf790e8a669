"""A member of the fleet that does all that its credential lets it do, for a while."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
from simulation.judges.oracle import FORGED, Oracle
from simulation.machines.machine import Machine
from simulation.machines.made_records import (
    encode_content,
    encode_record,
    encode_report,
    make_inventory,
    make_lease_record,
)
from simulation.timeline import Timeline
from simulation.wire.broker import Broker
from simulation.wire.network import Network

from datamill.protocol.fleet import Lease, Orders, Policy, Session
from datamill.protocol.trial import WorkerFacts

#: Longest time between two of its acts, and over which it goes on, in seconds.
LONGEST_PAUSE_S = 90.0
LONGEST_S = 5000.0
REASONS = ("policy", "file", "disk", "version", "factor")
#: What it claims to be.
LIES: dict[str, tuple[object, ...]] = {
    "arch": ("x86_64", "aarch64", "\x00", "pdp11"),
    "cpu_model": ("Simulated Xeon", "Simulated Atom", "x" * 5000),
    "cores": (8, 2, 1 << 30),
    "boot_id": ("", "m0000-boot-1", "\x00" * 100),
}


class Attacker:
    """Sends what no honest agent would, on the subjects that its machine's credential allows."""

    def __init__(
        self,
        machine: Machine,
        timeline: Timeline,
        broker: Broker,
        network: Network,
        oracle: Oracle,
        random: Random,
        end_s: float,
    ) -> None:
        self._machine = machine
        self._timeline = timeline
        self._broker = broker
        self._network = network
        self._oracle = oracle
        self._random = random
        self._end_s = min(end_s, timeline.now_s + random.uniform(LONGEST_S / 5, LONGEST_S))
        self._acts: tuple[Callable[[], None], ...] = (
            self._repeat_own,
            self._repeat_anothers,
            self._claim_anothers,
            self._forge_record,
            self._end_own,
            self._lie,
            self._lie,
            self._part,
            self._speak_of_another,
        )

    def begin(self) -> None:
        """Act now and then, until it is over; meanwhile its agent refuses everything by chance."""
        self._oracle.hostile.add(self._machine.worker_id)
        self._machine.refuses = self._random.random() < 0.5
        self._act()

    def _act(self) -> None:
        if self._timeline.now_s >= self._end_s or self._machine.gone:
            self._machine.refuses = False
            return
        if self._broker.up and self._machine.worker_id not in self._network.revoked:
            self._random.choice(self._acts)()
        pause_s = self._random.uniform(0.0, LONGEST_PAUSE_S) * self._random.random()
        self._timeline.after(pause_s, "hostile", self._act)

    def _send(self, kind: str, fields: dict[str, Any]) -> None:
        machine = self._machine
        clock_ns = machine.clock_unix_ns() + self._random.choice((0, 0, -(10**12), 10**12))
        self._send_payload(
            encode_report(machine.worker_id, machine.boot_id, clock_ns, encode_content(kind, fields))
        )

    def _send_payload(self, payload: bytes) -> None:
        """Publish on either of its subjects: the one for results, or the one that nobody keeps."""
        if self._random.random() < 0.8:
            self._network.send_forgery(self._machine.worker_id, payload)
        else:
            self._network.send_status(self._machine.name, self._machine.worker_id, payload)

    def _find_lease(self, worker_id: str) -> Lease | None:
        kept = self._broker.jobs.get(worker_id)
        return msgspec.json.decode(kept, type=Orders).lease if kept else None

    def _choose_other(self) -> str:
        others = sorted(worker_id for worker_id in self._broker.jobs if worker_id != self._machine.worker_id)
        return self._random.choice(others) if others else "w" + "a" * 12

    def _choose_sent(self, worker_id: str) -> bytes:
        sent = self._network.sent.get(worker_id)
        return self._random.choice(list(sent)) if sent else b""

    def _repeat_own(self) -> None:
        self._send_payload(self._choose_sent(self._machine.worker_id))

    def _repeat_anothers(self) -> None:
        self._send_payload(self._choose_sent(self._choose_other()))

    def _claim_anothers(self) -> None:
        other = self._choose_other()
        payload = self._choose_sent(other)
        self._send_payload(payload.replace(other.encode(), self._machine.worker_id.encode()))

    def _forge_record(self) -> None:
        """Tell a record that no trial made: one as ordered, which nobody can tell, or one that is not."""
        machine, random = self._machine, self._random
        lease = self._find_lease(machine.worker_id)
        if lease is None:
            return
        record = make_lease_record(
            lease,
            WorkerFacts(machine.fleet_name, "0.1.0"),
            machine.describe_host(),
            random,
            started_unix_ns=machine.clock_unix_ns(),
            duration_s=1.0,
            trouble=None,
        )
        wrong: dict[str, Any] = random.choice(
            (
                {},
                {"levels": {**record.levels, "optimization": "-O9"}},
                {"levels": {}},
                {"package_sha256": "f" * 64},
                {"seed": record.seed + 1},
                {"trial_id": "elsewhere"},
                {"attempt": record.attempt + 1},
                {"experiment": "another"},
                {"metrics": {"score": (1e308,)}},
                {"run": None},
            )
        )
        told = encode_record(msgspec.structs.replace(record, **wrong))
        is_sound = not wrong or "metrics" in wrong
        self._oracle.record_forged(machine.worker_id, lease.attempt, told, sound=is_sound)
        self._send(
            "record",
            {
                "attempt": lease.attempt, "record": msgspec.Raw(told), "artifacts": [], "rebooted": True,
                "taken_boot_id": "",
            },
        )  # fmt: skip

    def _end_own(self) -> None:
        lease = self._find_lease(self._machine.worker_id)
        if lease is None:
            return
        fields: dict[str, Any] = {"attempt": lease.attempt, "message": "because"}
        kind = self._random.choice(("gave_up", "refused", "taken"))
        if kind == "refused":
            fields["reason"] = self._random.choice(REASONS)
        if kind == "taken":
            del fields["message"]
        self._send(kind, fields)

    def _lie(self) -> None:
        """Say hello as another machine, under another policy, in a session of any number."""
        machine, random = self._machine, self._random
        host = machine.describe_host()
        for name, lies in LIES.items():
            if random.random() < 0.3:
                host = msgspec.structs.replace(host, **{name: random.choice(lies)})
        inventory = make_inventory(machine.name, host, machine.clock_unix_ns())
        if random.random() < 0.1:
            inventory = msgspec.structs.replace(inventory, trial_schema=99)
        lease = self._find_lease(self._choose_other())
        sessions: tuple[Session | None, ...] = (None, machine.find_session(), self._make_session())
        self._send(
            "hello",
            {
                "inventory": inventory,
                "policy": random.choice((Policy(), Policy(reboot=True), Policy(users=("ada",)))),
                "attempts": [lease.attempt] if lease and random.random() < 0.5 else [],
                "session": random.choice(sessions),
            },
        )

    def _part(self) -> None:
        session = self._machine.find_session() if self._random.random() < 0.5 else None
        self._send("goodbye", {"session": session or self._make_session()})

    def _make_session(self) -> Session:
        return Session(self._random.choice((0, 1, 5, 1 << 60)), self._random.randbytes(2).hex())

    def _speak_of_another(self) -> None:
        """Say something of the attempt that another worker makes."""
        lease = self._find_lease(self._choose_other())
        if lease is None:
            return
        kind = self._random.choice(("gave_up", "refused", "taken", "output"))
        more: dict[str, dict[str, Any]] = {
            "gave_up": {"message": FORGED},
            "refused": {"reason": "policy", "message": FORGED},
            "taken": {},
            "output": {"phase": "run", "number": 0, "text": FORGED},
        }
        self._send(kind, {"attempt": lease.attempt, **more[kind]})
