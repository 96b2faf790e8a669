"""Faults that strike at a moment of their own, each on whom chance chooses."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from datamill.protocol.fleet import Orders, Policy, Session
from simulation.coordinator.coordinator_process import CoordinatorProcess
from simulation.judges.oracle import FORGED, Oracle
from simulation.machines.hostile import Attacker
from simulation.machines.machine import Machine, draw_policy
from simulation.machines.made_records import encode_content, encode_report, make_inventory
from simulation.scenario import FaultKind
from simulation.timeline import Timeline
from simulation.users.people import USERS, People
from simulation.wire.broker import Broker
from simulation.wire.network import Chances, Network

#: What a hostile worker may send in another's name.
FORGERIES = (
    "foreign record", "foreign worker_id", "unknown attempt", "foreign hello", "foreign taken",
    "foreign gave_up", "foreign refused", "foreign goodbye", "foreign output", "many attempts",
)  # fmt: skip
#: More than a worker may send.
OVERSIZED_BYTES = 9 << 20
#: Of no experiment: what a worker says falsely of its own attempts, nothing tells from the truth.
NO_ATTEMPT = "999.p0001-r01.1"


class Faults:
    """Lets faults happen to a world."""

    def __init__(
        self,
        timeline: Timeline,
        broker: Broker,
        network: Network,
        chances: Chances,
        process: CoordinatorProcess,
        people: People,
        machines: list[Machine],
        add_machine: Callable[[], Machine],
        oracle: Oracle,
        random: Random,
    ) -> None:
        self._timeline = timeline
        self._broker = broker
        self._network = network
        self._struck = chances.struck
        self._end_s = chances.faults_end_s
        self._process = process
        self._people = people
        self._machines = machines
        self._add_machine = add_machine
        self._oracle = oracle
        self._random = random
        #: Machines whose reports nobody can trust to be whole: two of them share an identity.
        self.cloned: set[str] = set()
        #: Machines that lie.
        self.hostile: set[str] = set()

    def strike(self, kind: FaultKind) -> None:
        """Let a fault happen now, where there is somebody for it to happen to."""
        members = [machine for machine in self._machines if machine.worker_id and not machine.gone]
        if kind in ("late_joiner", "long_absence") or kind.startswith("broker"):
            self._struck[kind] += 1
            self._strike_service(kind)
        elif members:
            self._struck[kind] += 1
            if kind in ("drain", "resume", "remove", "cancel", "release", "bad_enrolment"):
                self._strike_people(kind, members)
            else:
                at_work = [machine for machine in members if machine.is_at_work()]
                chosen = at_work if at_work and self._random.random() < 0.7 else members
                self._strike_machine(kind, self._random.choice(chosen))

    def end(self) -> None:
        """Mend what can be mended: from now on nothing fails."""
        self._network.partitioned.clear()
        for machine in self._machines:
            machine.disk.full = False
            machine.wake()

    def _until_mended(self, longest_s: float) -> float:
        """Return how long a trouble lasts: never beyond the end of all faults."""
        return min(self._random.uniform(1.0, longest_s), max(self._end_s - self._timeline.now_s, 0.0))

    def _strike_service(self, kind: FaultKind) -> None:
        if kind == "late_joiner":
            self._add_machine()
        elif kind == "long_absence":
            self._process.die(self._until_mended(7200.0))
        elif self._broker.up:
            self._broker.go_down()
            for machine in self._machines:
                machine.wake()
            self._timeline.after(self._until_mended(600.0), "broker", self._restart_broker)

    def _restart_broker(self) -> None:
        self._broker.restart()
        self._process.wake()

    def _strike_people(self, kind: FaultKind, members: list[Machine]) -> None:
        if kind == "bad_enrolment":
            self._people.enrol_badly(self._random.choice(members))
        elif kind == "cancel":
            self._people.cancel()
        elif kind == "release":
            self._people.release()
        else:
            worker_id = self._people.change_member(kind)
            if kind == "remove" and worker_id:
                self._network.revoked.add(worker_id)
                for machine in members:
                    if machine.worker_id == worker_id:
                        machine.retire()

    def _strike_machine(self, kind: FaultKind, machine: Machine) -> None:
        match kind:
            case "power_cut":
                machine.cut_power()
            case "agent_killed":
                machine.kill_agent()
            case "agent_dismissed":
                longest_s = 5.0 if self._random.random() < 0.5 else 20_000.0
                machine.dismiss_agent(self._until_mended(longest_s))
            case "disk_full":
                machine.disk.full = True
                self._timeline.after(self._until_mended(5000.0), "disk", lambda: self._empty(machine))
            case "clock_skew":
                machine.skew_s = self._random.choice((-1.0, 1.0)) * self._random.uniform(30.0, 9e5)
            case "partition":
                self._network.cut(machine.name)
                self._broker.stop_listening(machine.worker_id, machine.name)
                machine.wake()
                self._timeline.after(self._until_mended(6000.0), "partition", lambda: self._join(machine))
            case "reinstalled":
                machine.reinstall()
                self._add_machine()
            case "cloned":
                if machine.name in self.hostile:
                    return
                clone = self._add_machine()
                clone.copy_identity(machine)
                self.cloned |= {machine.name, clone.name}
                clone.boot(1.0)
            case "policy_changed":
                machine.policy = self._draw_policy()
                machine.kill_agent()
            case "garbage":
                self._network.send_forgery(machine.worker_id, self._make_garbage(machine))
            case "oversized":
                self._network.send_forgery(machine.worker_id, self._make_oversized(machine))
            case "forged":
                self._forge(machine)
            case "hostile":
                self._turn_hostile(machine)

    def _draw_policy(self) -> Policy:
        """Draw what an owner allows from now on; mostly something is forbidden."""
        random = self._random
        known = self._people.list_files()
        allowed = tuple(random.sample(known, random.randrange(1, len(known) + 1))) if known else ()
        more: dict[str, Any] = random.choice(
            (
                {},
                {"reboot": True},
                {"users": ("nobody",), "reboot": True},
                {"users": tuple(random.sample(USERS, 2)), "reboot": True},
                {"packages": allowed, "reboot": True},
                {"package_bytes": random.randrange(1, 5_000_000), "reboot": True},
                {"forbidden_factors": (random.choice(("optimization", "own")),), "reboot": True},
            )
        )
        return draw_policy(random, **more)

    def _turn_hostile(self, machine: Machine) -> None:
        """Let a member lie from now on; two machines that share an identity do harm enough."""
        if machine.name not in self.cloned:
            self.hostile.add(machine.name)
            Attacker(
                machine,
                self._timeline,
                self._broker,
                self._network,
                self._oracle,
                self._random,
                self._end_s,
            ).begin()

    def _empty(self, machine: Machine) -> None:
        machine.disk.full = False

    def _join(self, machine: Machine) -> None:
        self._network.partitioned.discard(machine.name)

    def _make_garbage(self, machine: Machine) -> bytes:
        random = self._random
        whole = self._report(machine, "taken", {"attempt": "1.p0001-r01.1"})
        return random.choice(
            (
                b"",
                b"\x00" * 100,
                random.randbytes(300),
                b"[" * 5000,
                b'{"a":' * 5000,
                b"null",
                b'{"schema": 1e999}',
                whole[: len(whole) // 2],
                whole.replace(b'"taken"', b'"unheard_of"'),
                whole.replace(b'"schema":4', b'"schema":99'),
                whole.replace(b'"schema":4', b'"schema":-1'),
                whole.replace(b"p0001", b"\xff\xfe"),
                whole + whole,
            )
        )

    def _make_oversized(self, machine: Machine) -> bytes:
        if self._random.random() < 0.5:
            return b" " * OVERSIZED_BYTES
        return self._report(machine, "gave_up", {"attempt": NO_ATTEMPT, "message": "x" * 3_000_000})

    def _report(self, machine: Machine, kind: str, fields: dict[str, Any], worker_id: str = "") -> bytes:
        return encode_report(
            worker_id or machine.worker_id,
            machine.boot_id,
            machine.clock_unix_ns(),
            encode_content(kind, fields),
        )

    def _forge(self, machine: Machine) -> None:
        """Send what claims somebody else's attempt, or one that never was."""
        others = sorted(worker_id for worker_id in self._broker.jobs if worker_id != machine.worker_id)
        victim, attempt = "w" + "a" * 12, NO_ATTEMPT
        self._random.shuffle(others)
        for worker_id in others:
            lease = msgspec.json.decode(self._broker.jobs[worker_id], type=Orders).lease
            if lease is not None:
                victim, attempt = worker_id, lease.attempt
                break
        kind = self._random.choice(FORGERIES)
        unknown = self._random.choice(("", "x", "9.9.9", "1.\x00.1"))
        record = {"schema": 5, "outcome": "completed"}
        hello = {
            "inventory": make_inventory(machine.name, machine.describe_host(), machine.clock_unix_ns()),
            "policy": machine.policy,
        }
        contents: dict[str, tuple[str, dict[str, Any]]] = {
            "foreign record": (
                "record",
                {
                    "attempt": attempt, "record": record, "artifacts": [], "rebooted": False,
                    "taken_boot_id": "",
                },
            ),
            "unknown attempt": ("gave_up", {"attempt": unknown, "message": ""}),
            "foreign hello": ("hello", {**hello, "attempts": [attempt]}),
            "many attempts": ("hello", {**hello, "attempts": [f"1.p{n:04d}-r01.1" for n in range(5000)]}),
            "foreign taken": ("taken", {"attempt": attempt}),
            "foreign gave_up": ("gave_up", {"attempt": attempt, "message": FORGED}),
            "foreign refused": ("refused", {"attempt": attempt, "reason": "disk", "message": FORGED}),
            "foreign goodbye": ("goodbye", {"session": Session(self._random.randrange(100), FORGED)}),
            "foreign output": ("output", {"attempt": attempt, "phase": "run", "number": 0, "text": FORGED}),
        }  # fmt: skip
        content = contents.get(kind, contents["foreign gave_up"])
        payload = self._report(
            machine, *content, worker_id=victim if kind == "foreign worker_id" else machine.worker_id
        )
        self._network.send_forgery(machine.worker_id, payload)
