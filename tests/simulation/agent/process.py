"""The agent's process: what it says and hears, and which attempt it takes (`serve.rs`, `agent.rs`)."""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import TYPE_CHECKING, Literal

import msgspec

from datamill.protocol.fleet import Lease, Orders, Session
from simulation.agent.durable import Durable, Journal, Seen
from simulation.agent.endings import AgentEndedError, Patience, RebootAskedError, Waiting
from simulation.agent.recovery import recover
from simulation.agent.refusals import find_refusal
from simulation.agent.running import run_leased
from simulation.agent.wording import make_report, tell
from simulation.machines.disk import DiskFullError
from simulation.machines.made_records import encode_content, make_inventory

if TYPE_CHECKING:
    from simulation.machines.machine import Machine

#: How often the files of one lease are tried before it is refused.
MOST_FETCHES = 8
#: Longest delay between two tries of what does not work, in seconds.
LONGEST_DELAY_S = 300.0
#: Time in which orders may have been on their way before they could answer what was sent.
LEAST_PAUSE_S = 1.0


class Agent:
    """One process of the agent, from its start; all that outlives it is on the machine's disk."""

    def __init__(self, machine: Machine, random: Random) -> None:
        self._machine = machine
        self._files = Durable(machine)
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
                yield from run_leased(self._machine, self._files, self._random)
                continue
            journal = yield from self._serve()
            if journal.lease.reboot:
                raise RebootAskedError
            yield from run_leased(self._machine, self._files, self._random)

    def leave(self) -> Waiting:
        """End as a process that is told to: a trial that runs is given up, and what can be said is said."""
        journal = self._files.read_journal()
        try:
            if journal is not None and journal.stage == "started":
                # The runner becomes the agent again, which has said nothing yet.
                if self._files.is_spooled(journal.lease.attempt):
                    self._files.remove_journal()
                else:
                    self._files.give_up(
                        journal.lease.attempt, "The worker was told to end while the trial ran."
                    )
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
            if not (
                yield from self._machine.send_report(
                    tell(self._machine, "goodbye", {"session": self.session})
                )
            ):
                return
        for attempt in self._files.list_spooled():
            content = self._files.read_spooled(attempt)
            is_word = content is not None and msgspec.json.decode(content)["kind"] == "gave_up"
            if content is not None and is_word:
                yield from self._machine.send_report(make_report(self._machine, content))

    def _recover(self) -> Generator[float | None, None, Literal["nothing", "run", "reboot"]]:
        while True:
            try:
                return recover(self._files, self._machine.boot_id)
            except DiskFullError:
                yield self._next_delay_s()

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
        seen = self._files.read_seen()
        number = seen.sessions + 1
        try:
            self._files.write("seen", msgspec.json.encode(msgspec.structs.replace(seen, sessions=number)))
        except DiskFullError:
            return
        self.session = Session(number, self._random.randbytes(8).hex())
        self._machine.watch.session_began(self._machine.worker_id, self.session.id)

    def _begin_connection(self) -> None:
        """What was under way may be gone with the connection."""
        self._inbox.clear()
        self._is_heard = False
        self._is_hello_due = True
        self._unsent = set(self._files.list_spooled())
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
        return not self._is_heard or self._refusal is not None or bool(self._files.list_spooled())

    def _wait_for_answers(self) -> None:
        """Everything was sent: what is not answered in time is sent again."""
        self._said_s, self._again_s = self._machine.monotonic_s(), None
        if self._is_waiting_for_answers():
            whole = min(2.0 ** min(self._answers, 9), LONGEST_DELAY_S) * self._random.uniform(0.75, 1.0)
            self._answers += 1
            self._again_s = self._said_s + min(2 * whole, LONGEST_DELAY_S)

    def _note_answers(self) -> None:
        """Orders came: the coordinator is there, and should have by now what they do not answer."""
        now_s = self._machine.monotonic_s()
        if not self._is_waiting_for_answers():
            self._again_s, self._answers = None, 0
        elif self.session is None:
            # Orders name no session that could not be counted: not at once, or it would never end.
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
        self._unsent.update(self._files.list_spooled())
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
            if not (yield from machine.send_report(make_report(self._machine, content))):
                return False
            self._is_refusal_sent = True
        for attempt in sorted(self._unsent):
            content = self._files.read_spooled(attempt)
            if content is not None:
                for sha256, size in machine.list_uploads(attempt):
                    yield machine.latency_s()
                    if not machine.upload(sha256, size):
                        return False
                if not (yield from machine.send_report(make_report(self._machine, content))):
                    return False
            self._unsent.discard(attempt)
        return True

    def _say_hello(self) -> Generator[float | None, None, bool]:
        machine = self._machine
        hello = {
            "inventory": make_inventory(machine.name, machine.describe_host(), machine.clock_unix_ns()),
            "policy": machine.policy,
            "attempts": self._files.list_spooled(),
            "session": self.session,
        }
        if not (yield from machine.send_report(tell(self._machine, "hello", hello))):
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
            # Meanwhile a deadline may have passed; a worker that missed one counts as silent until it speaks.
            self._is_hello_due = True
        return self._stuck is None

    def _follow(self, orders: Orders) -> None:
        """Follow orders that are for this worker, unless newer ones were seen.

        Raises:
            DiskFullError: when they cannot be noted.
        """
        seen = self._files.read_seen()
        if orders.worker_id != self._machine.worker_id or orders.sequence < seen.sequence:
            return
        # Orders name no session that could not be counted: its hello is said again and again.
        self._is_heard = self.session is not None and self.session.id in orders.sessions
        # Newer orders that ask for an attempt know best whether it is over.
        asked = orders.lease.attempt if orders.lease else ""
        over = orders.receipts or tuple(key for key in seen.receipted if key != asked)
        newest = Seen(orders.sequence, over, seen.sessions)
        if newest != seen:
            # First what must never be undone by older orders.
            self._files.write("seen", msgspec.json.encode(newest))
        for attempt in orders.receipts:
            if self._files.is_spooled(attempt):
                self._machine.watch.receipt_obeyed(self._machine.worker_id, attempt)
                self._files.remove_spooled(attempt)
            self._unsent.discard(attempt)
        lease = orders.lease
        if lease is not None and (self._files.is_spooled(lease.attempt) or lease.attempt in newest.receipted):
            lease = None
        if (lease and lease.attempt) != (self._lease and self._lease.attempt):
            self._refusal, self._is_refusal_sent, self._fetches = None, False, 0
        self._lease = lease
        self._note_answers()

    # lease.rs: an attempt is prepared and taken.

    def _make_attempt(self, lease: Lease) -> Generator[float | None, None, tuple[Journal | None, float]]:
        """Go as far with the lease as is possible now; return the journal once it is taken, else a pause."""
        machine = self._machine
        refusal = find_refusal(machine, lease, self._random)
        if refusal is None:
            for need in (*lease.files, *((lease.prebuilt,) if lease.prebuilt else ())):
                yield machine.latency_s()
                if not machine.download(need.sha256):
                    if self._fetches >= MOST_FETCHES:
                        refusal = ("file", f"{need.sha256} cannot be fetched")
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
                self._files.write("journal", msgspec.json.encode(journal))
            except DiskFullError:
                refusal = ("disk", "the journal cannot be written")
        if refusal is not None:
            reason, message = refusal
            fields = {"attempt": lease.attempt, "reason": reason, "message": message}
            self._refusal = (lease.attempt, encode_content("refused", fields))
            self._is_refusal_sent = False
            return None, 0.0
        machine.send_status(tell(self._machine, "taken", {"attempt": lease.attempt}))
        if lease.live_output and not lease.reboot:
            yield from run_leased(self._machine, self._files, self._random)
            if self._files.read_journal() is not None:
                try:
                    self._files.give_up(lease.attempt, "The runner went down.")
                except DiskFullError:
                    raise AgentEndedError from None
            self._lease, self._unsent = None, set(self._files.list_spooled())
            return None, 0.0
        return journal, 0.0
