"""A model of the worker's agent (`crates/fleet`), step by step as it touches disk, network and machine."""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import TYPE_CHECKING, Literal

import msgspec

from datamill.results.trial_record import WorkerFacts
from datamill.service.messages import ArtifactFile, Lease, Orders, Session
from simulation.disk import DiskFullError
from simulation.made_records import (
    HOST_TROUBLES,
    encode_content,
    encode_record,
    encode_report,
    make_inventory,
    make_lease_record,
)

if TYPE_CHECKING:
    from simulation.machine import Machine

#: How often a worker sets out to start one attempt, reboots included.
MOST_STARTS = 3
#: How often the files of one lease are tried before it is refused.
MOST_FETCHES = 8
#: Longest delay between two tries of what does not work, in seconds.
LONGEST_DELAY_S = 300.0
#: Time in which orders may have been on their way before they could answer what was sent.
LEAST_PAUSE_S = 1.0

Waiting = Generator[float | None, None, None]


class Patience(float):
    """Seconds to wait, unless woken before."""


class PowerCutError(Exception):
    """The machine goes down on the spot."""


class RebootAskedError(Exception):
    """The agent reboots its machine, in order."""


class AgentEndedError(Exception):
    """The agent's process ended with an error; whoever started it starts it again."""


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


class Agent:
    """One process of the agent, from its start; all that outlives it is on the machine's disk."""

    def __init__(self, machine: Machine, random: Random) -> None:
        self._machine = machine
        self._disk = machine.disk
        self._random = random
        self._is_hello_due = True
        self.session: Session | None = None
        self._unsent: set[str] = set()
        self._lease: Lease | None = None
        #: Refusal of the lease at hand, and whether the broker has it.
        self._refusal: tuple[str, bytes] | None = None
        self._is_refusal_sent = False
        self._fetches = 0
        self._tries = 0
        self._inbox: list[bytes] = []
        #: Orders that could not be written down.
        self._stuck: bytes | None = None
        #: Whether orders answered the latest hello.
        self._is_heard = False
        #: When everything was sent last, and when what is not answered is sent again.
        self._said_s = float("-inf")
        self._again_s: float | None = None
        self._answers = 0

    def live(self) -> Waiting:
        """Serve until the process ends; each value is how long it sleeps, None until it is woken."""
        while True:
            found = yield from self._recover()
            if found == "reboot":
                raise RebootAskedError
            if found == "run":
                yield from self._run_leased()
                continue
            journal = yield from self._serve()
            if journal.lease.reboot:
                raise RebootAskedError
            yield from self._run_leased()

    def leave(self) -> Waiting:
        """End as a process that is told to: a trial that runs is given up, and what can be said is said."""
        journal = self._read_journal()
        try:
            if journal is not None and journal.stage == "started":
                # The runner becomes the agent again, which has said nothing yet.
                if self._is_spooled(journal.lease.attempt):
                    self._remove_journal()
                else:
                    self._give_up(journal.lease.attempt, "The worker was told to end while the trial ran.")
                self._begin_session()
                self._is_hello_due = True
        except DiskFullError:
            return
        if not self._machine.reaches_broker():
            return
        if self.session is not None:
            if self._is_hello_due and not (yield from self._say_hello()):
                return
            self._machine.watch.session_parted(self.session.id)
            if not (yield from self._machine.send_report(self._tell("goodbye", {"session": self.session}))):
                return
        for attempt in self._list_spooled():
            content = self._disk.read(f"spool/{attempt}")
            is_word = content is not None and msgspec.json.decode(content)["kind"] == "gave_up"
            if content is not None and is_word:
                yield from self._machine.send_report(self._report(content))

    # recovery.rs: what a process that starts finds on the disk.

    def _recover(self) -> Generator[float | None, None, Literal["nothing", "run", "reboot"]]:
        while True:
            try:
                return self._try_recover()
            except DiskFullError:
                yield self._next_delay_s()

    def _try_recover(self) -> Literal["nothing", "run", "reboot"]:
        journal = self._read_journal()
        if journal is None:
            return "nothing"
        attempt = journal.lease.attempt
        if self._is_spooled(attempt):
            self._remove_journal()
            return "nothing"
        if journal.stage == "started":
            self._give_up(attempt, "The machine went down while the trial ran.")
            return "nothing"
        if journal.starts >= MOST_STARTS:
            self._give_up(attempt, f"The worker set out {MOST_STARTS} times to start the trial.")
            return "nothing"
        journal.starts += 1
        self._write("journal", msgspec.json.encode(journal))
        is_new = journal.lease.reboot and journal.taken_boot_id == self._machine.boot_id
        return "reboot" if is_new else "run"

    def _give_up(self, attempt: str, message: str) -> None:
        self._machine.watch.attempt_given_up(attempt)
        self._write(f"spool/{attempt}", encode_content("gave_up", {"attempt": attempt, "message": message}))
        self._remove_journal()

    # durable.rs: nothing is done before what says so is on the disk.

    def _write(self, name: str, content: bytes) -> None:
        """Write a file so that it is on the disk on return; power may fail just before or just after.

        Raises:
            DiskFullError: nothing was written.
        """
        self._disk.write(name, content)
        self._sync()

    def _remove_journal(self) -> None:
        self._disk.remove("journal")
        self._sync()

    def _sync(self) -> None:
        if self._machine.chances.strikes("power_cut_at_sync"):
            raise PowerCutError
        self._disk.sync()
        if self._machine.chances.strikes("power_cut_at_sync"):
            raise PowerCutError

    def _read_journal(self) -> Journal | None:
        content = self._disk.read("journal")
        return msgspec.json.decode(content, type=Journal) if content is not None else None

    def _read_seen(self) -> Seen:
        content = self._disk.read("seen")
        return msgspec.json.decode(content, type=Seen) if content is not None else Seen()

    def _is_spooled(self, attempt: str) -> bool:
        return self._disk.read(f"spool/{attempt}") is not None

    def _list_spooled(self) -> list[str]:
        return sorted(name.removeprefix("spool/") for name in self._disk.list_names("spool/"))

    # agent.rs: connected.

    def _serve(self) -> Generator[float | None, None, Journal]:
        """Report what there is to report and obey orders, until an attempt is in the journal."""
        self._lease, self._refusal = None, None
        self._begin_session()
        while True:
            self._begin_connection()
            while not self._machine.reaches_broker():
                yield self._next_delay_s()
            self._tries = 0
            self._machine.connect(self._hear_orders)
            journal = yield from self._talk()
            self._machine.disconnect()
            if journal is not None:
                return journal
            yield self._random.uniform(0.1, 1.0)

    def _begin_session(self) -> None:
        """Count one more process that says hello; one that cannot be counted leaves without a goodbye."""
        self.session = None
        seen = self._read_seen()
        number = seen.sessions + 1
        try:
            self._write("seen", msgspec.json.encode(msgspec.structs.replace(seen, sessions=number)))
        except DiskFullError:
            return
        self.session = Session(number, self._random.randbytes(8).hex())
        self._machine.watch.session_began(self._machine.worker_id, self.session.id)

    def _begin_connection(self) -> None:
        """What was under way may be gone with the connection."""
        self._inbox.clear()
        self._is_heard = False
        self._is_hello_due = True
        self._unsent = set(self._list_spooled())
        self._is_refusal_sent = False

    def _next_delay_s(self) -> float:
        whole = min(2.0 ** min(self._tries, 9), LONGEST_DELAY_S)
        self._tries += 1
        return whole * self._random.uniform(0.75, 1.0)

    def _hear_orders(self, payload: bytes) -> None:
        self._inbox.append(payload)
        self._machine.wake()

    # answers.rs: what the coordinator has not answered is sent again.

    def _is_waiting_for_answers(self) -> bool:
        return not self._is_heard or self._refusal is not None or bool(self._list_spooled())

    def _wait_for_answers(self) -> None:
        """Everything was sent: what is not answered in time is sent again."""
        self._said_s, self._again_s = self._machine.monotonic_s(), None
        if self._is_waiting_for_answers():
            whole = min(2.0 ** min(self._answers, 9), LONGEST_DELAY_S) * self._random.uniform(0.75, 1.0)
            self._answers += 1
            self._again_s = self._said_s + min(2 * whole, LONGEST_DELAY_S)

    def _note_answers(self) -> None:
        """Orders came: whoever gave them is there, and should have by now what they do not answer."""
        now_s = self._machine.monotonic_s()
        if not self._is_waiting_for_answers():
            self._again_s, self._answers = None, 0
        elif self.session is None:
            # Whatever is said of it, no orders answer: not at once, or it would never end.
            if self._again_s is None:
                self._wait_for_answers()
        elif now_s - self._said_s >= LEAST_PAUSE_S:
            self._again_s = now_s
        elif self._again_s is None:
            self._again_s = now_s + LEAST_PAUSE_S

    def _say_again(self) -> None:
        self._again_s = None
        if self.session is None:
            # There may be room on the disk by now.
            self._begin_session()
        self._is_hello_due |= not self._is_heard
        self._unsent.update(self._list_spooled())
        self._is_refusal_sent = False

    def _talk(self) -> Generator[float | None, None, Journal | None]:
        """Use one connection; return the attempt that was taken, None when the connection is gone."""
        while self._machine.is_connected():
            self._take_orders()
            if not self._take_stuck_orders():
                yield self._next_delay_s()
                continue
            if self._again_s is not None and self._again_s <= self._machine.monotonic_s():
                self._say_again()
            if self._is_hello_due or self._unsent or self._is_refusal_due():
                caught_up = yield from self._catch_up()
                if not caught_up:
                    yield self._next_delay_s()
                    continue
                self._tries = 0
                self._wait_for_answers()
                continue
            if self._lease is not None and self._refusal is None:
                journal, pause_s = yield from self._make_attempt(self._lease)
                if journal is not None:
                    return journal
                if pause_s:
                    yield pause_s
                continue
            if not self._inbox:
                again_s = self._again_s
                yield None if again_s is None else Patience(max(again_s - self._machine.monotonic_s(), 0.001))
        return None

    def _is_refusal_due(self) -> bool:
        return self._refusal is not None and not self._is_refusal_sent

    def _catch_up(self) -> Generator[float | None, None, bool]:
        """Say hello if that is due, and hand in what is on the disk."""
        machine = self._machine
        if self._is_hello_due and not (yield from self._say_hello()):
            return False
        if self._refusal is not None and not self._is_refusal_sent:
            _, content = self._refusal
            if not (yield from machine.send_report(self._report(content))):
                return False
            self._is_refusal_sent = True
        for attempt in sorted(self._unsent):
            content = self._disk.read(f"spool/{attempt}")
            if content is not None:
                for sha256, size in machine.list_uploads(attempt):
                    yield machine.latency_s()
                    if not machine.upload(sha256, size):
                        return False
                if not (yield from machine.send_report(self._report(content))):
                    return False
            self._unsent.discard(attempt)
        return True

    def _say_hello(self) -> Generator[float | None, None, bool]:
        machine = self._machine
        hello = {
            "inventory": make_inventory(machine.name, machine.describe_host(), machine.clock_unix_ns()),
            "policy": machine.policy,
            "attempts": self._list_spooled(),
            "session": self.session,
        }
        if not (yield from machine.send_report(self._tell("hello", hello))):
            return False
        self._is_hello_due = False
        return True

    def _take_orders(self) -> None:
        """Follow the orders that came."""
        while self._inbox:
            payload = self._inbox.pop(0)
            try:
                self._follow(msgspec.json.decode(payload, type=Orders))
            except DiskFullError:
                self._stuck = payload

    def _take_stuck_orders(self) -> bool:
        """Follow orders that could not be kept before; tell whether none are left."""
        if self._stuck is None:
            return True
        payload, self._stuck = self._stuck, None
        self._inbox.insert(0, payload)
        self._take_orders()
        if self._stuck is None:
            # Meanwhile a deadline may have passed, and whoever missed one is silent until it speaks.
            self._is_hello_due = True
        return self._stuck is None

    def _follow(self, orders: Orders) -> None:
        """Follow orders that are for this worker, unless newer ones were seen.

        Raises:
            DiskFullError: when they cannot be noted.
        """
        seen = self._read_seen()
        if orders.worker_id != self._machine.worker_id or orders.sequence < seen.sequence:
            return
        # Of a session that could not be counted no orders tell: its hello is said again and again.
        self._is_heard = self.session is not None and self.session.id in orders.sessions
        # Newer orders that ask for an attempt know best whether it is over.
        asked = orders.lease.attempt if orders.lease else ""
        over = orders.receipts or tuple(key for key in seen.receipted if key != asked)
        newest = Seen(orders.sequence, over, seen.sessions)
        if newest != seen:
            # First what must never be undone by older orders.
            self._write("seen", msgspec.json.encode(newest))
        for attempt in orders.receipts:
            if self._is_spooled(attempt):
                self._machine.watch.receipt_obeyed(self._machine.worker_id, attempt)
                self._disk.remove(f"spool/{attempt}")
                self._sync()
            self._unsent.discard(attempt)
        lease = orders.lease
        if lease is not None and (self._is_spooled(lease.attempt) or lease.attempt in newest.receipted):
            lease = None
        if (lease and lease.attempt) != (self._lease and self._lease.attempt):
            self._refusal, self._is_refusal_sent, self._fetches = None, False, 0
        self._lease = lease
        self._note_answers()

    # lease.rs: an attempt is prepared and taken.

    def _make_attempt(self, lease: Lease) -> Generator[float | None, None, tuple[Journal | None, float]]:
        """Go as far with the lease as is possible now; return the journal once it is taken, else a pause."""
        machine = self._machine
        refusal = self._find_refusal(lease)
        if refusal is None:
            for need in (*lease.files, *((lease.prebuilt,) if lease.prebuilt else ())):
                yield machine.latency_s()
                if not machine.download(need.sha256):
                    if self._fetches >= MOST_FETCHES:
                        refusal = ("file", f"{need.sha256} cannot be had")
                        break
                    self._fetches += 1
                    return None, min(2.0**self._fetches, LONGEST_DELAY_S)
        if refusal is None:
            # The files may have taken hours, and the orders may be others by now.
            yield machine.latency_s()
            self._take_orders()
            if not machine.is_connected():
                return None, 1.0
            if self._lease is None or self._lease.attempt != lease.attempt:
                return None, 0.0
            journal = Journal(lease, "taken", 1, machine.boot_id)
            try:
                self._write("journal", msgspec.json.encode(journal))
            except DiskFullError:
                refusal = ("disk", "the journal cannot be written")
        if refusal is not None:
            reason, message = refusal
            fields = {"attempt": lease.attempt, "reason": reason, "message": message}
            self._refusal = (lease.attempt, encode_content("refused", fields))
            self._is_refusal_sent = False
            return None, 0.0
        machine.send_status(self._tell("taken", {"attempt": lease.attempt}))
        if lease.live_output and not lease.reboot:
            yield from self._run_leased()
            if self._read_journal() is not None:
                try:
                    self._give_up(lease.attempt, "The runner went down.")
                except DiskFullError:
                    raise AgentEndedError from None
            self._lease, self._unsent = None, set(self._list_spooled())
            return None, 0.0
        return journal, 0.0

    def _find_refusal(self, lease: Lease) -> tuple[str, str] | None:
        """Return why this machine will not make an attempt, as policy.rs and lease.rs do."""
        policy, spec = self._machine.policy, lease.spec
        if self._machine.refuses:
            return self._random.choice(("policy", "file", "disk", "version", "factor")), "it will not"
        if policy.users and lease.user not in policy.users:
            return "policy", "this user's experiments do not run here"
        shipped = [item.sha256 for item in (spec.package, spec.background, *spec.user_factors) if item]
        if policy.packages and not set(shipped) <= set(policy.packages):
            return "policy", "this package does not run here"
        if set(policy.forbidden_factors).intersection(spec.levels):
            return "policy", "this factor is not set here"
        if lease.reboot and not policy.reboot:
            return "policy", "this machine is not rebooted"
        is_root = spec.needs.privileged or spec.isolation == "overlay"
        if is_root and not policy.privileged:
            return "policy", "nobody is root here"
        if (spec.needs.network and not policy.network) or set(spec.needs.kernel) - set(policy.kernel):
            return "policy", "this package gets less here"
        if spec.isolation == "plain" and not policy.plain:
            return "policy", "nothing would keep the package apart"
        if policy.package_bytes and any(need.bytes > policy.package_bytes for need in lease.files):
            return "policy", "a file is too large"
        if self._disk.full:
            return "disk", "no room"
        return None

    # run_leased.rs: the trial itself.

    def _run_leased(self) -> Waiting:
        """Run the attempt in the journal and spool its report; what fails here is found by `_recover`."""
        journal, machine = self._read_journal(), self._machine
        if journal is None or journal.stage != "taken" or self._is_spooled(journal.lease.attempt):
            return
        lease = journal.lease
        journal.stage = "started"
        try:
            self._write("journal", msgspec.json.encode(journal))
        except DiskFullError:
            yield 1.0
            return
        package = machine.find_package(lease.spec.package.sha256 or "")
        beside = lease.spec.background
        is_poison = package.poison or bool(beside and machine.find_package(beside.sha256 or "").poison)
        machine.watch.execution_began(machine.name, machine.worker_id, lease.attempt)
        started_unix_ns = machine.clock_unix_ns()
        if lease.live_output:
            for number in range(self._random.randrange(3)):
                text = f"line {number}\n"
                machine.send_status(
                    self._tell(
                        "output",
                        {"attempt": lease.attempt, "phase": "run", "number": number, "text": text},
                    )
                )
        if is_poison:
            yield package.duration_s / 2
            machine.chances.struck["poison_package"] += 1
            raise PowerCutError
        duration_s = min(package.duration_s, lease.spec.limits.run_timeout_s)
        yield duration_s
        trouble: tuple[str, str] | None = None
        if self._random.random() < machine.host_trouble:
            trouble = self._random.choice(HOST_TROUBLES)
        elif self._random.random() < package.failing:
            trouble = self._random.choice((("run", "exit_status"), ("run", "timeout"), ("setup", "signal")))
        record = encode_record(
            make_lease_record(
                lease,
                WorkerFacts(machine.fleet_name, "0.1.0"),
                machine.describe_host(),
                self._random,
                started_unix_ns=started_unix_ns,
                duration_s=duration_s,
                trouble=trouble,
            )
        )
        artifacts = self._list_artifacts(lease, trouble)
        content = encode_content(
            "record",
            {
                "attempt": lease.attempt,
                "record": msgspec.Raw(record),
                "artifacts": artifacts,
                "rebooted": journal.taken_boot_id != machine.boot_id,
                "taken_boot_id": journal.taken_boot_id,
            },
        )
        content, damaged = machine.damage(content)
        machine.watch.execution_ended(
            machine.name, machine.worker_id, lease.attempt, record, artifacts, damaged=damaged
        )
        machine.keep_uploads(lease.attempt, [(file.sha256, file.bytes) for file in artifacts])
        try:
            self._write(f"spool/{lease.attempt}", content)
        except DiskFullError:
            yield 1.0
            return
        if not damaged:
            machine.watch.record_spooled(machine.name, lease.attempt)
        self._remove_journal()

    def _list_artifacts(self, lease: Lease, trouble: tuple[str, str] | None) -> list[ArtifactFile]:
        names = ["run.stdout"] if self._random.random() < 0.3 else []
        if lease.task == "build" and trouble is None:
            names.append("build.tar.gz")
        return [
            ArtifactFile(name, self._random.randbytes(32).hex(), self._random.randrange(1, 10_000))
            for name in names
        ]

    def _tell(self, kind: str, fields: dict[str, object]) -> bytes:
        return self._report(encode_content(kind, fields))

    def _report(self, content: bytes) -> bytes:
        machine = self._machine
        return encode_report(machine.worker_id, machine.boot_id, machine.clock_unix_ns(), content)
