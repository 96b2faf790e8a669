"""The coordinator's process: takes the real turns of `coordinator_loop.py`, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, TypeVar

import msgspec
from django.db import OperationalError
from simulation.coordinator.database import CoordinatorCrash, Database, HazardKind
from simulation.judges.oracle import Oracle
from simulation.timeline import Happening, Timeline
from simulation.wire.broker import Broker
from simulation.wire.network import Chances, Network

from datamill.protocol.fleet import Session
from datamill.service.answers.looking import decide, read_looked_at
from datamill.service.coordinator.experiments.experiments import enter_decision
from datamill.service.coordinator.messages.ingest import ReceivedReport
from datamill.service.coordinator.messages.orders import UnsentOrders, mark_all_orders_unsent
from datamill.service.coordinator.messages.repeats import OrderRepeats
from datamill.service.coordinator.messages.report_forms import find_attempt_key
from datamill.service.serving.coordinator_loop import work_on

T = TypeVar("T")

#: Reports of one turn.
MOST_REPORTS = 500
#: By how much a turn may come late, in seconds.
LATEST_TURN_S = 3600.0
#: Time that the loop waits when the database is away.
DATABASE_PAUSE_S = 2.0
#: Reports that wait for the coordinator.
MOST_WAITING = 10_000
#: Differences of clocks that must be told of, with a margin for messages that were late.
SKEW_S = 120.0
#: Share of looks at which the rule is met.
RULE_MET = 0.2
HAZARDS: tuple[HazardKind, ...] = (
    "crash_at_statement", "crash_after_commit", "database_restart", "commit_unanswered",
)  # fmt: skip


class _Content(msgspec.Struct):
    kind: Literal["hello", "goodbye", "taken", "record", "refused", "gave_up", "output"]
    session: Session | None = None


class _Envelope(msgspec.Struct):
    """What any report must have; what is wrong further in may concern an attempt that is over."""

    schema: Literal[1, 2, 3, 4]
    worker_id: str
    clock_unix_ns: int
    content: _Content


def is_text(payload: bytes) -> bool:
    """Tell whether a message is of characters: strings that nobody looks into may hold anything else."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


class CoordinatorProcess:
    """Ingests what came, steps, publishes what is unsent; dies and comes back."""

    def __init__(
        self,
        timeline: Timeline,
        broker: Broker,
        network: Network,
        chances: Chances,
        database: Database,
        oracle: Oracle,
        random: Random,
        looks_random: Random,
        batch_delay_s: float,
        note: Callable[[str], None],
    ) -> None:
        self._timeline = timeline
        self._broker = broker
        self._network = network
        self._chances = chances
        self._database = database
        self._oracle = oracle
        self._random = random
        self._looks_random = looks_random
        self._looking: set[tuple[int, int]] = set()
        self._batch_delay_s = batch_delay_s
        self._note = note
        self._reports: list[ReceivedReport] = []
        self._repeats = OrderRepeats()
        self._round: Happening | None = None
        self._sent: list[UnsentOrders] = []
        self._nudged = False
        self._next_step_s = 0.0
        self._idle_rounds = 0
        self._connected_to = 0
        self.up = False
        self.starts = 0
        #: Whether the tables may have changed since somebody looked.
        self.acted = False
        self.rounds = 0

    def start(self) -> None:
        if not self.up:
            self.up, self._connected_to, self._next_step_s = True, 0, 0.0
            self.starts += 1
            self._note("coordinator starts")
            self._plan_round(0.0)

    def die(self, back_s: float) -> None:
        """Lose everything that is not in the database, and start again after a while."""
        if not self.up:
            return
        self.up = False
        self._reports, self._sent, self._repeats = [], [], OrderRepeats()
        self._looking.clear()
        if self._round is not None:
            self._round.call_off()
            self._round = None
        self._timeline.after(back_s, "coordinator", self.start)

    @property
    def waiting(self) -> bool:
        """Whether there are reports that were not taken in."""
        return bool(self._reports)

    def hear_report(self, worker_id: str, payload: bytes) -> None:
        """Take a report, if this process is there and connected; it is lost otherwise."""
        is_connected = self._broker.up and self._connected_to == self._broker.starts
        if self.up and is_connected and len(self._reports) < MOST_WAITING:
            self._reports.append(ReceivedReport(worker_id, payload))
            self.wake()

    def wake(self) -> None:
        """Something came or changed: act on it soon."""
        if self.up:
            self._plan_round(self._batch_delay_s)

    def call(self, function: Callable[[], T], *, safe: bool = False) -> T | None:
        """Do what a person asks through the API; None when the coordinator is down or goes down in it.

        `safe` keeps faults away.
        """
        if not self.up:
            return None
        self.acted = True
        try:
            with self._database.hazard(None if safe else self._draw_hazard(), self._random.randrange(1, 25)):
                return function()
        except CoordinatorCrash as crash:
            self._note(f"coordinator dies: {crash}")
            self.die(self._random.uniform(0.5, 60.0))
        except OperationalError:
            self._expect_struck()
        finally:
            self._nudged = True
            self.wake()
        return None

    def _plan_round(self, delay_s: float) -> None:
        at_s = self._timeline.now_s + delay_s
        if self._round is not None and self._round.action is not None:
            if self._round.at_s <= at_s:
                return
            self._round.call_off()
        self._round = self._timeline.after(delay_s, "coordinator", self._do_round)

    def _do_round(self) -> None:
        self._round = None
        if not self.up:
            return
        self.acted = True
        self.rounds += 1
        try:
            with self._database.hazard(self._draw_hazard(), self._random.randrange(1, 60)):
                self._take_turn()
        except CoordinatorCrash as crash:
            self._note(f"coordinator dies: {crash}")
            self.die(self._random.choice((0.5, 5.0, 60.0)))
        except OperationalError:
            self._expect_struck()
            self._plan_round(DATABASE_PAUSE_S)

    def _take_turn(self) -> None:
        """Do what `CoordinatorLoop._take_turn` does; after an error of the database, the same again."""
        self._stay_connected()
        batch = self._reports[:MOST_REPORTS]
        now_s = self._timeline.now_s
        stepping = bool(batch) or self._nudged or now_s >= self._next_step_s
        for received in batch:
            self._oracle.causes.offered(received.worker_id_of_subject, received.payload)
        again = self._repeats.list_due(now_s) if self._broker.up else []
        turn = work_on(batch, self._sent, stepping, now_s, again)
        self._repeats.drop(set(again) - {orders.worker_id for orders in turn.orders})
        for due in turn.looks:
            if due not in self._looking:
                self._looking.add(due)
                delay_s, start = self._looks_random.uniform(0.1, 60.0), self.starts
                self._timeline.after(
                    delay_s,
                    "look",
                    lambda due=due, start=start: self._make_look(due, start),  # type: ignore[misc]
                )
        for defect in turn.defects:
            self._oracle.object(f"the coordinator failed: {defect}")
        self._tell_oracle(batch)
        if turn.pause_s is not None and not turn.defects:
            self._oracle.stepped()
        del self._reports[: len(batch)]
        self._sent, self._nudged = [], False
        self._note(f"turn: {len(batch)} reports, step {stepping}, {len(turn.orders)} orders")
        self._idle_rounds = 0 if batch or turn.orders else self._idle_rounds + 1
        if turn.pause_s is not None:
            # Where nothing happens for days, turns come late more and more, as on a machine that sleeps.
            late_s = min(LATEST_TURN_S, 2.0 ** min(self._idle_rounds, 12)) if self._idle_rounds > 5 else 0.0
            self._next_step_s = now_s + max(turn.pause_s, late_s)
        self._maybe_die("crash_before_publish")
        self._publish(turn.orders)
        self._maybe_die("crash_before_mark")
        pause_s = max(self._next_step_s - now_s, 0.0)
        if self._broker.up and (again_s := self._repeats.find_next_s()) is not None:
            pause_s = min(pause_s, max(again_s - now_s, 0.0))
        if self._sent or self._reports:
            pause_s = 0.0
        self._plan_round(max(pause_s, 0.01))

    def _make_look(self, due: tuple[int, int], start: int) -> None:
        """Do what `CoordinatorLoop._look` does; now and then the rule is met, whatever the records say."""
        if not self.up or self.starts != start:
            return
        self._looking.discard(due)
        is_met = self._looks_random.random() < RULE_MET

        def look() -> None:
            decision = decide(read_looked_at(*due))
            if is_met and decision.decision == "go on":
                decision = msgspec.structs.replace(decision, decision="stop", cause="precise")
            entered = enter_decision(due[0], decision, self._timeline.now_s)
            self._note(f"look {due}: {decision.decision}, {decision.cause}, entered {entered}")

        self.call(look)

    def _stay_connected(self) -> None:
        """Do what `CoordinatorLoop._stay_connected` does."""
        broker = self._broker
        if not broker.up or self._connected_to == broker.starts:
            return
        mark_all_orders_unsent()
        self._sent = []
        self._connected_to, self._nudged = broker.starts, True

    def _publish(self, unsent: Sequence[UnsentOrders]) -> None:
        for orders in unsent if self._broker.up else ():
            self._oracle.orders_published(orders.worker_id, orders.sequence, orders.payload)
            is_lost = self._chances.strikes("orders_lost")
            self._broker.publish_orders(orders.worker_id, orders.payload, is_lost=is_lost)
            self._note(f"orders {orders.sequence} to {orders.worker_id}: {len(orders.payload)}")
            self._sent.append(orders)
        self._repeats.note_sent(self._sent, self._timeline.now_s)

    def _maybe_die(self, kind: HazardKind) -> None:
        if self._chances.strikes(kind):  # type: ignore[arg-type]
            raise CoordinatorCrash(kind)

    def _draw_hazard(self) -> HazardKind | None:
        for kind in HAZARDS:
            if self._chances.strikes(kind):  # type: ignore[arg-type]
                return kind
        return None

    def _expect_struck(self) -> None:
        """Go on after an error of the database that was ours; any other is the coordinator's."""
        if not self._database.struck:
            raise
        self._note("the database was restarted")

    def _tell_oracle(self, batch: list[ReceivedReport]) -> None:
        for received in batch:
            try:
                report = msgspec.json.decode(received.payload, type=_Envelope)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._oracle.garbage_ingested(
                    received.worker_id_of_subject, find_attempt_key(received.payload)
                )
                continue
            if report.worker_id == received.worker_id_of_subject:
                if is_text(received.payload):
                    self._oracle.causes.taken_in(report.worker_id)
                session = report.content.session
                self._oracle.session_told(
                    report.worker_id, report.content.kind, session.id if session else ""
                )
            skew_s = abs(report.clock_unix_ns / 1e9 - self._timeline.now_s)
            if (
                report.content.kind == "hello"
                and report.worker_id == received.worker_id_of_subject
                and skew_s > SKEW_S
            ):
                self._oracle.skewed_hello_ingested(report.worker_id)
