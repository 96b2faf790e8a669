"""The loop of the coordinator: reports in, a step, orders out; over and over, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from datamill.service.answers.looking import look_at
from datamill.service.bounded_work.departures import Departure, working_for
from datamill.service.broker.link import BROKER_ERRORS, BrokerLink, CapturedError
from datamill.service.broker.server import BrokerServer
from datamill.service.coordinator.experiments.due_looks import list_due_looks
from datamill.service.coordinator.experiments.follow_ups import list_due_follow_ups
from datamill.service.coordinator.messages.floods import judge_crowds, judge_floods
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.messages.orders import (
    UnsentOrders,
    list_unsent_orders,
    mark_all_orders_unsent,
    mark_orders_sent,
)
from datamill.service.coordinator.messages.repeats import OrderRepeats
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.step import step
from datamill.service.files.store import AwayError
from datamill.service.models import FleetWorker
from datamill.service.serving.storage.database_lock import DatabaseTakenError
from datamill.service.serving.storage.writer import Writer
from datamill.service.states import WorkerState
from datamill.service.submissions.following import follow_up

log = logging.getLogger("datamill.coordinator")

_MOST_REPORTS = 500
_MOST_ORDERS = 1000
_LONGEST_WAIT_S = 30.0
#: Time from a turn to the next one: a turn costs hardly more for a hundred reports than for one.
_LEAST_TURN_S = 0.025
#: Time between two looks at what is left over.
_TIDY_EVERY_S = 3600.0
_DATABASE_PAUSE_S = 2.0
_BROKER_PAUSE_S = 0.25
#: Time after which an inference is tried again that failed by a defect of ours, or with the database.
_INFERENCE_PAUSE_S = 30.0
#: Time between two looks at whether the broker answers and keeps nothing.
_CHECK_EVERY_S = 2.0
#: What a database that is away or overwhelmed raises; all else is a defect of ours.
_DATABASE_AWAY = (OperationalError, InterfaceError)


@dataclass(frozen=True)
class LoopTurn:
    """What one turn of the loop left."""

    orders: Sequence[UnsentOrders]
    pause_s: float | None
    defects: Sequence[str]
    #: Whether a worker's credential may have become void.
    has_refused: bool = False
    #: Experiments that go on when they were looked at, each with the number of the look.
    looks: Sequence[tuple[int, int]] = ()
    #: Screenings that have ended and that the experiment is to follow.
    screenings: Sequence[int] = ()


class CoordinatorLoop:
    """Carries the coordinator's decisions between the database and the broker.

    Args:
        writer: the thread in which everything is decided.
        link: the connection to the broker.
        server: the broker's process where it is ours.
        now_s: the clock, seconds since the Unix epoch.
    """

    def __init__(
        self,
        writer: Writer,
        link: BrokerLink,
        server: BrokerServer | None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        #: Throws away uploads that nobody goes on with, given the time; returns how many there were.
        self.drop_abandoned_uploads: Callable[[float], int] = lambda _now_s: 0
        #: Makes a look that is due, given the numbers of experiment and look, and enters the decision.
        self.look_at: Callable[[int, int], None] = look_at
        #: Enters the experiment that follows a screening, given the screening's number.
        self.follow_up: Callable[[int], None] = follow_up
        self._inferring: dict[tuple[int, ...], asyncio.Task[None]] = {}
        self._next_tidying_s = 0.0
        self._writer = writer
        self._link = link
        self._server = server
        self._now_s = now_s
        self._wake = asyncio.Event()
        self._one_inference = asyncio.Lock()
        self._nudged = False
        self._began = False
        self._captured = False
        self._repeats = OrderRepeats()
        self._sent: list[UnsentOrders] = []
        self._sent_over = 0
        self._next_step_s = 0.0
        self._next_turn_s = 0.0
        self.database_trouble = ""
        self.defect = ""
        self.turns = 0
        self.reports = 0
        self.orders = 0

    def wake(self) -> None:
        """Have the loop look at what came; in the event loop."""
        self._wake.set()

    def nudge(self) -> None:
        """Have the loop take a step: something changed besides reports; in the event loop."""
        self._nudged = True
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            DatabaseTakenError: when another coordinator took the database over.
        """
        connecting = asyncio.create_task(self._stay_connected(), name="broker link")
        await self._note(EventKind.COORDINATOR_STARTED, "")
        try:
            while True:
                await self._wait()
                await self._take_turn()
        finally:
            for inferring in self._inferring.values():
                inferring.cancel()
            connecting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await connecting

    async def _wait(self) -> None:
        """Sleep until something is there to do, and a while since the last turn has passed."""
        if not self._wake.is_set():
            again_s = self._repeats.find_next_s() if self._link.prepared else None
            next_s = self._next_step_s if again_s is None else min(self._next_step_s, again_s)
            pause_s = min(max(0.0, next_s - time.monotonic()), _LONGEST_WAIT_S)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause_s)
        await asyncio.sleep(self._next_turn_s - time.monotonic())
        self._next_turn_s = time.monotonic() + _LEAST_TURN_S
        self._wake.clear()

    async def _take_turn(self) -> None:
        reports = self._link.take(_MOST_REPORTS)
        dropped = self._link.take_dropped()
        nudged, self._nudged = self._nudged, False
        stepping = bool(reports) or nudged or time.monotonic() >= self._next_step_s
        sent, self._sent = self._sent, []
        if nudged and self._server is not None:
            await self._refresh_revocations(self._server)
        self._tidy()
        again = self._repeats.list_due(time.monotonic()) if self._link.prepared else []
        turn = await self._work(reports, sent, stepping, again, dropped)
        self._repeats.drop(set(again) - {orders.worker_id for orders in turn.orders})
        self._nudged = self._nudged or turn.has_refused
        self.turns += 1
        self.reports += len(reports)
        if turn.defects:
            self.defect = turn.defects[-1]
        for due in (*turn.looks, *((number,) for number in turn.screenings)):
            if due not in self._inferring:
                self._inferring[due] = asyncio.create_task(self._infer(due), name="inference")
        if turn.pause_s is not None:
            self._next_step_s = time.monotonic() + turn.pause_s
        if self._link.prepared and turn.orders:
            self._sent_over = self._link.connection
            self._sent = await self._link.publish(turn.orders)
            self._repeats.note_sent(self._sent, time.monotonic())
            self.orders += len(self._sent)
            if len(self._sent) < len(turn.orders):
                await asyncio.sleep(_BROKER_PAUSE_S)
        if self._sent or self._link.waiting or self._nudged:
            self._wake.set()

    async def _infer(self, due: tuple[int, ...]) -> None:
        """Make a look, or let an experiment follow its screening, while reports are taken in and trials lent.

        One after the other, each in a thread of its own.
        """
        departure = Departure()
        try:
            async with self._one_inference:
                with working_for(departure):
                    if len(due) > 1:
                        await asyncio.to_thread(self.look_at, due[0], due[1])
                    else:
                        await asyncio.to_thread(self.follow_up, due[0])
        except asyncio.CancelledError:
            # Its thread would else be waited for at the end of the coordinator.
            departure.note()
            raise
        except AwayError as problem:
            log.warning("what follows experiment %s waits: %s", due[0], problem.message)
            await asyncio.sleep(_INFERENCE_PAUSE_S)
        except Exception as error:
            log.exception("an inference for experiment %s failed", due[0])
            self.defect = f"an inference for experiment {due[0]}: {error!r}"
            await asyncio.sleep(_INFERENCE_PAUSE_S)
        finally:
            self._inferring.pop(due, None)
            self.nudge()

    def _tidy(self) -> None:
        """Now and then throw away what nobody will come back for."""
        if time.monotonic() < self._next_tidying_s:
            return
        self._next_tidying_s = time.monotonic() + _TIDY_EVERY_S
        if dropped := self.drop_abandoned_uploads(self._now_s()):
            log.info("%s uploads that did not go on were thrown away", dropped)

    async def _work(
        self,
        reports: Sequence[ReceivedReport],
        sent: Sequence[UnsentOrders],
        stepping: bool,
        again: Collection[str],
        dropped: Mapping[str, int],
    ) -> LoopTurn:
        """Have the writer do its part, again and again while the database is away."""
        while True:
            if self._sent_over != self._link.connection:
                # Another broker may answer now, or the same without its files: they are sent once more.
                sent = ()
            try:
                turn = await asyncio.wrap_future(
                    self._writer.submit(work_on, reports, sent, stepping, self._now_s(), again, dropped)
                )
            except DatabaseTakenError:
                raise
            except _DATABASE_AWAY as error:
                if not self.database_trouble:
                    log.error("the database is away: %s", error)
                self.database_trouble = str(error).strip() or repr(error)
                await asyncio.wrap_future(self._writer.close_connection())
                await asyncio.sleep(_DATABASE_PAUSE_S)
                continue
            if self.database_trouble:
                log.warning("the database is back")
                self.database_trouble = ""
            return turn

    async def _refresh_revocations(self, server: BrokerServer) -> None:
        try:
            if await server.refresh_revocations():
                log.info("the broker was told who is removed")
        except (*_DATABASE_AWAY, TimeoutError) as error:
            log.warning("the broker does not know yet who is removed: %s", error)
            self._nudged = True

    async def _stay_connected(self) -> None:
        """Keep the link up, and have orders sent again over each new connection."""
        link = self._link
        next_check_s = 0.0
        while True:
            try:
                if not link.connected:
                    await link.connect()
                if not link.prepared:
                    await link.prepare()
                    await self._send_orders_again()
                    self.nudge()
                elif time.monotonic() >= next_check_s:
                    next_check_s = time.monotonic() + _CHECK_EVERY_S
                    await link.check()
                    self._captured = False
                    await self._judge_crowds()
            except CapturedError as error:
                link.trouble = str(error)
                await self._note_capture(error)
            except BROKER_ERRORS as error:
                link.trouble = str(error) or repr(error)
                log.warning("the broker is not well: %s", link.trouble)
                # A line that stands and over which nothing comes may never end by itself.
                await link.close()
            except _DATABASE_AWAY as error:
                link.prepared = False
                log.warning("cannot have orders sent again: %s", error)
            except Exception as error:
                # Whatever it is, a coordinator that gives its broker up does nothing any more.
                link.trouble = repr(error)
                log.exception("the connection to the broker failed")
                await link.close()
            await asyncio.sleep(_BROKER_PAUSE_S)

    async def _send_orders_again(self) -> None:
        """Have all orders sent again: those before may be lost with the last connection."""
        if not self._began:
            await asyncio.wrap_future(self._writer.submit(raise_sequences, self._now_s()))
            self._began = True
        await asyncio.wrap_future(self._writer.submit(mark_all_orders_unsent))
        await self._note(EventKind.BROKER_CONNECTED, "")

    async def _judge_crowds(self) -> None:
        """Keep out workers that take so many connections that others find none."""
        if crowds := await self._link.find_crowds():
            _log_refused(await asyncio.wrap_future(self._writer.submit(_judge_crowds, crowds, self._now_s())))
            self.nudge()

    async def _note_capture(self, error: CapturedError) -> None:
        """Tell once, in the log and the account of events, that a stream keeps the fleet's messages."""
        if self._captured:
            return
        self._captured = True
        log.error("%s", error)
        await self._note(EventKind.BROKER_CAPTURED, str(error))

    async def _note(self, kind: EventKind, detail: str) -> None:
        """Put into the table of events what happened to the coordinator itself."""
        event = NewEvent(kind, detail=detail)
        with contextlib.suppress(*_DATABASE_AWAY):
            await asyncio.wrap_future(self._writer.submit(add_events, [event], self._now_s()))


def raise_sequences(now_s: float) -> None:
    """Number the next orders beyond all that any worker can have seen: milliseconds since the Unix epoch.

    Workers heed no orders older than those they know, and a database from a backup went back in its count.
    """
    floor = int(now_s * 1000)
    below = FleetWorker.objects.filter(orders_sequence__lt=floor).exclude(state=WorkerState.REMOVED)
    below.update(orders_sequence=floor)


def work_on(
    reports: Sequence[ReceivedReport],
    sent: Sequence[UnsentOrders],
    stepping: bool,
    now_s: float,
    again: Collection[str] = (),
    dropped: Mapping[str, int] = MappingProxyType({}),
) -> LoopTurn:
    """Do the database's part of a turn in one transaction; runs in the writer's thread.

    Args:
        reports: what came, in order.
        sent: orders that went out since the last turn.
        stepping: whether to look what is due.
        now_s: the time.
        again: workers whose orders may not have come.
        dropped: by worker, how many of its reports there was no room for.

    A report or a step that our own defect makes fail must not stop all others: each report is then taken
    alone, and what fails is logged and told.

    Raises:
        django.db.OperationalError: when the database is away; nothing happened then.
    """
    try:
        with transaction.atomic():
            if sent:
                mark_orders_sent(list(sent), now_s)
            refused = [*ingest_reports(reports, now_s).refused, *judge_floods(dropped, now_s)]
            _log_refused(refused)
            pause_s = step(now_s) if stepping else None
            looks = list_due_looks() if stepping else ()
            screenings = list_due_follow_ups() if stepping else ()
            orders = list_unsent_orders(_MOST_ORDERS, now_s, again)
            return LoopTurn(orders, pause_s, (), bool(refused), looks, screenings)
    except _DATABASE_AWAY:
        raise
    except Exception:
        log.exception("a turn of the coordinator failed; taking its parts one by one")
        return _work_in_parts(reports, sent, now_s)


def _work_in_parts(reports: Sequence[ReceivedReport], sent: Sequence[UnsentOrders], now_s: float) -> LoopTurn:
    defects: list[str] = []
    mark_orders_sent(list(sent), now_s)
    for report in reports:
        try:
            with transaction.atomic():
                _log_refused(ingest_reports([report], now_s).refused)
        except _DATABASE_AWAY:
            raise
        except Exception as error:
            log.exception(
                "cannot ingest a report of %s: %r", report.worker_id_of_subject, report.payload[:2000]
            )
            defects.append(f"a report of {report.worker_id_of_subject}: {error!r}")
    pause_s = 5.0
    try:
        with transaction.atomic():
            pause_s = step(now_s)
    except _DATABASE_AWAY:
        raise
    except Exception as error:
        log.exception("a step of the coordinator failed")
        defects.append(f"a step: {error!r}")
    try:
        return LoopTurn(list_unsent_orders(_MOST_ORDERS, now_s), pause_s, defects, has_refused=True)
    except _DATABASE_AWAY:
        raise
    except DatabaseError as error:
        return LoopTurn((), pause_s, [*defects, f"orders: {error!r}"])


def _judge_crowds(crowds: Mapping[str, int], now_s: float) -> list[str]:
    with transaction.atomic():
        return judge_crowds(crowds, now_s)


def _log_refused(refused: Sequence[str]) -> None:
    for sentence in refused:
        log.warning("refused: %s", sentence)
