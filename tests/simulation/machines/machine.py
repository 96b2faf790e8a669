"""A simulated machine: power, boots, a disk, a clock of its own, and the agent that runs on it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import msgspec
from simulation.agent import Agent, AgentEndedError, Patience, PowerCutError, RebootAskedError, Waiting
from simulation.machines.disk import Disk
from simulation.machines.made_records import make_host
from simulation.machines.packages import SimulatedPackage
from simulation.scenario import Scenario
from simulation.timeline import Happening, Timeline
from simulation.wire.broker import Broker
from simulation.wire.network import Chances, Network, Waits

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import ArtifactFile, Policy, Session
from datamill.protocol.trial import HostFacts


class Watch(Protocol):
    """Who knows what machines truly do: the oracle."""

    def execution_began(self, machine: str, worker_id: str, attempt: str) -> None: ...
    def execution_ended(
        self,
        machine: str,
        worker_id: str,
        attempt: str,
        record: bytes,
        artifacts: Sequence[ArtifactFile],
        *,
        damaged: bool,
    ) -> None: ...
    def execution_broke_off(self, machine: str) -> None: ...
    def record_spooled(self, machine: str, attempt: str) -> None: ...
    def receipt_obeyed(self, worker_id: str, attempt: str) -> None: ...
    def attempt_given_up(self, attempt: str) -> None: ...
    def disk_wiped(self, machine: str) -> None: ...
    def session_began(self, worker_id: str, session: str) -> None: ...
    def session_parted(self, session: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all machines of a world share."""

    scenario: Scenario
    timeline: Timeline
    broker: Broker
    network: Network
    chances: Chances
    watch: Watch
    packages: dict[str, SimulatedPackage]


@dataclass(frozen=True, slots=True)
class MachineKind:
    """What a machine is."""

    arch: str
    cpu_model: str
    cores: int


class Machine:
    """A machine and its life; `worker_id` is empty until it has joined."""

    def __init__(self, name: str, kind: MachineKind, around: Surroundings) -> None:
        self.name = name
        self.kind = kind
        self.disk = Disk()
        self.watch = around.watch
        self.chances = around.chances
        self.worker_id = ""
        #: Its name in the fleet.
        self.fleet_name = ""
        self.public_key = make_public_key(f"{around.scenario.seed} {name}")
        self.policy = Policy()
        self.boot_id = ""
        self.boots = 0
        self.skew_s = 0.0
        self.host_trouble = 0.005
        self.powered = False
        #: It will never boot again.
        self.gone = False
        #: Its agent refuses whatever it is asked, for no reason.
        self.refuses = False
        self._around = around
        self._random = around.scenario.random("machine", name)
        self.policy = draw_policy(self._random, reboot=self._random.random() < 0.9)
        self._agent: Waiting | None = None
        self._process = Agent(self, self._random)
        self._sleeping: Happening | None = None
        self._waiting = False
        self._connection: tuple[int, int] | None = None
        self._uploads: dict[str, list[tuple[str, int]]] = {}

    # Power.

    def boot(self, delay_s: float) -> None:
        """Come up after a while, unless this is the boot that never ends."""
        self.powered = False
        if self.gone:
            return
        if self.chances.strikes("boot_never_ends"):
            self.gone = True
            return
        if self.chances.strikes("boot_takes_hours"):
            delay_s += self._random.uniform(1.0, 20.0) * 3600
        self._around.timeline.after(delay_s, f"{self.name} boots", self._come_up)

    def cut_power(self) -> None:
        """Lose memory and what was not synced; boot again some time later."""
        if not self.powered:
            return
        self._stop_agent()
        self.disk.cut_power(self._random)
        self.boot(self._random.uniform(5.0, 120.0))

    def kill_agent(self) -> None:
        """Kill the agent's process; the machine stays up and starts it again."""
        if self.powered:
            self._stop_agent()
            self._start_agent_later(self._random.uniform(0.1, 10.0))

    def dismiss_agent(self, back_s: float) -> None:
        """Tell the agent's process to end; somebody starts it again after a while."""
        if not self.powered or self._agent is None:
            return
        leaving = self._process
        self._stop_agent()
        self._agent = leaving.leave()
        self._go_on()
        self._start_agent_later(back_s)

    def _start_agent_later(self, delay_s: float) -> None:
        boot_id = self.boot_id
        self._around.timeline.after(
            delay_s,
            f"{self.name} starts its agent",
            lambda: self._start_agent() if self.powered and self.boot_id == boot_id else None,
        )

    def retire(self) -> None:
        """Switch off for good."""
        self.gone = True
        if self.powered:
            self._stop_agent()
            self.powered = False

    def reinstall(self) -> None:
        """Lose everything on the disk: whoever joins from here is somebody else."""
        self.retire()
        self.disk.wipe()
        self._uploads.clear()
        self.watch.disk_wiped(self.name)

    def _come_up(self) -> None:
        if self.powered or self.gone:
            return
        self.powered = True
        self.boots += 1
        self.boot_id = f"{self.name}-boot-{self.boots}"
        self._start_agent()

    # The agent's process.

    def _start_agent(self) -> None:
        if self._agent is None:
            self._process = Agent(self, self._random)
            self._agent = self._process.live()
            self._go_on()

    def _stop_agent(self) -> None:
        if self._sleeping is not None:
            self._sleeping.call_off()
        self._sleeping, self._waiting = None, False
        self.disconnect()
        self.watch.execution_broke_off(self.name)
        if self._agent is not None:
            agent, self._agent = self._agent, None
            agent.close()

    def wake(self) -> None:
        """Let an agent that waits go on, soon."""
        if self._waiting:
            self._waiting = False
            if self._sleeping is not None:
                self._sleeping.call_off()
            self._sleep(self._around.network.latency_s())

    def _sleep(self, delay_s: float) -> None:
        self._sleeping = self._around.timeline.after(delay_s, self.name, self._go_on)

    def _go_on(self) -> None:
        self._sleeping, self._waiting = None, False
        if self._agent is None:
            return
        try:
            pause_s = next(self._agent)
        except StopIteration:
            self._agent = None
        except PowerCutError:
            self._agent = None
            self.cut_power()
        except AgentEndedError:
            self._agent = None
            self.kill_agent()
        except RebootAskedError:
            self._agent = None
            self._stop_agent()
            self.disk.sync()
            self.boot(self._random.uniform(5.0, 60.0))
        else:
            self._waiting = pause_s is None or isinstance(pause_s, Patience)
            if pause_s is not None:
                self._sleep(pause_s)

    def is_at_work(self) -> bool:
        """Whether an attempt is on its disk."""
        return self.disk.read("journal") is not None or bool(self.disk.list_names("spool/"))

    def find_session(self) -> Session | None:
        """Return the session of its agent's process."""
        return self._process.session

    def find_service(self) -> object:
        """Return what tells the time since it serves, undisturbed, from any other; None when it does not."""
        is_free = self.powered and self._agent is not None and not self.disk.full and not self.is_at_work()
        if not is_free or self._connection is None or not self.is_connected():
            return None
        return self.boots, self._process, self._connection

    # What the agent asks of its machine.

    def clock_unix_ns(self) -> int:
        return int((self._around.timeline.now_s + self.skew_s) * 1e9)

    def describe_host(self) -> HostFacts:
        return make_host(self.kind.arch, self.kind.cpu_model, self.kind.cores, self.boot_id)

    def find_package(self, sha256: str) -> SimulatedPackage:
        return self._around.packages[sha256]

    def reaches_broker(self) -> bool:
        return self._around.network.reaches_broker(self.name, self.worker_id)

    def monotonic_s(self) -> float:
        return self._around.timeline.now_s

    def connect(self, hear: Callable[[bytes], None]) -> None:
        """Connect to the broker, which calls `hear` with orders."""
        self._connection = self._around.network.connect(self.name)
        self._around.broker.listen(self.worker_id, self.name, hear)

    def disconnect(self) -> None:
        self._around.broker.stop_listening(self.worker_id, self.name)
        self._connection = None

    def is_connected(self) -> bool:
        """Whether the connection has held since `connect`."""
        return self.reaches_broker() and self._connection == self._around.network.connect(self.name)

    def latency_s(self) -> float:
        return self._around.network.latency_s()

    def send_report(self, payload: bytes) -> Waits:
        return self._around.network.send_report(self.name, self.worker_id, payload)

    def send_status(self, payload: bytes) -> None:
        self._around.network.send_status(self.name, self.worker_id, payload)

    def download(self, sha256: str) -> bool:
        return bool(sha256) and self._around.network.reaches_files(self.name)

    def keep_uploads(self, attempt: str, files: list[tuple[str, int]]) -> None:
        self._uploads[attempt] = files

    def list_uploads(self, attempt: str) -> list[tuple[str, int]]:
        return self._uploads.get(attempt, [])

    def upload(self, sha256: str, size_bytes: int) -> bool:
        if not self._around.network.reaches_files(self.name):
            return False
        try:
            self._around.network.store_file(self.worker_id, sha256, size_bytes)
        except InputError:
            return False
        return True

    def damage(self, content: bytes) -> tuple[bytes, bool]:
        """Return what a report tells, by chance spoilt before it reached the disk, and whether it is."""
        if not self.chances.strikes("damaged_record"):
            return content, False
        return spoil_content(content, self._random), True

    def copy_identity(self, other: Machine) -> None:
        """Become another machine's clone: its disk and so its identity."""
        self.worker_id, self.public_key, self.policy = other.worker_id, other.public_key, other.policy
        for name in other.disk.list_names(""):
            self.disk.write(name, other.disk.read(name) or b"")
        self.disk.sync()
        self._uploads = dict(other._uploads)


def draw_policy(random: Random, **more: Any) -> Policy:
    """Draw what an owner gives to packages; mostly all of it."""
    return Policy(
        network=random.random() < 0.8,
        privileged=random.random() < 0.8,
        plain=random.random() < 0.8,
        kernel=("perf_events",) if random.random() < 0.8 else (),
        **more,
    )


def make_public_key(text: str) -> str:
    """Return what looks like the public NKEY of a worker."""
    return "U" + base64.b32encode(hashlib.sha512(text.encode()).digest()).decode()[:55]


def spoil_content(content: bytes, random: Random) -> bytes:
    """Return what a report tells of a record with one thing wrong in it."""
    told = msgspec.json.decode(content)
    record = told["record"]
    match random.randrange(7):
        case 0:
            record["package_sha256"] = "f" * 64
        case 1:
            record["levels"] = {**record["levels"], "optimization": "-O9"}
        case 2:
            # A record of a build alone has no run to lack.
            record |= {"outcome": "completed", "failure": None, "build": None, "run": None}
        case 3:
            record["trial_id"] = "elsewhere"
        case 4:
            record["seed"] += 1
        case 5:
            record["schema"] = 99
        case _:
            record["unheard_of"] = 1
    return msgspec.json.encode(told)
