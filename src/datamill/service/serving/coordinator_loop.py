"""The loop of the coordinator: reports in, a step, orders out; over and over, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from datamill.service.broker.link import BROKER_ERRORS, Arrival, BrokerLink
from datamill.service.broker.server import BrokerServer
from datamill.service.coordinator.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.orders import (
    UnsentOrders,
    list_unsent_orders,
    mark_all_orders_unsent,
    mark_orders_sent,
)
from datamill.service.coordinator.step import step
from datamill.service.models import Worker, WorkerState
from datamill.service.serving.database_lock import DatabaseTakenError
from datamill.service.serving.writer import Writer

log = logging.getLogger("datamill.coordinator")

_MOST_REPORTS = 500
_MOST_ORDERS = 1000
_LONGEST_WAIT_S = 30.0
#: Time from a turn to the next one: a turn costs hardly more for a hundred reports than for one.
_LEAST_TURN_S = 0.025
#: Time between two looks at what is left over.
_TIDY_EVERY_S = 3600.0
_DATABASE_PAUSE_S = 2.0
_BROKER_PAUSE_S = 0.5
#: Time between two looks at how full the stream of reports is.
_ROOM_EVERY_S = 5.0
_RECONNECT_S = 20.0
#: What a database that is away or overwhelmed raises; all else is a defect of ours.
_DATABASE_AWAY = (OperationalError, InterfaceError)


@dataclass(frozen=True)
class Turn:
    """What one turn of the loop left."""

    orders: Sequence[UnsentOrders]
    pause_s: float | None
    defects: Sequence[str]


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
        self._next_tidying_s = 0.0
        self._writer = writer
        self._link = link
        self._server = server
        self._now_s = now_s
        self._wake = asyncio.Event()
        self._nudged = False
        self._began = False
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
            connecting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await connecting

    async def _wait(self) -> None:
        """Sleep until something is there to do, and a while since the last turn has passed."""
        if not self._wake.is_set():
            pause_s = min(max(0.0, self._next_step_s - time.monotonic()), _LONGEST_WAIT_S)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause_s)
        await asyncio.sleep(self._next_turn_s - time.monotonic())
        self._next_turn_s = time.monotonic() + _LEAST_TURN_S
        self._wake.clear()

    async def _take_turn(self) -> None:
        arrivals = self._link.take(_MOST_REPORTS)
        nudged, self._nudged = self._nudged, False
        stepping = bool(arrivals) or nudged or time.monotonic() >= self._next_step_s
        sent, self._sent = self._sent, []
        if nudged and self._server is not None:
            await self._refresh_revocations(self._server)
        self._tidy()
        turn = await self._work(arrivals, sent, stepping)
        self.turns += 1
        self.reports += len(arrivals)
        if turn.defects:
            self.defect = turn.defects[-1]
        if turn.pause_s is not None:
            self._next_step_s = time.monotonic() + turn.pause_s
        await self._link.acknowledge(arrivals)
        if self._link.prepared and turn.orders:
            self._sent_over = self._link.connection
            self._sent = await self._link.publish(turn.orders)
            self.orders += len(self._sent)
            if len(self._sent) < len(turn.orders):
                await asyncio.sleep(_BROKER_PAUSE_S)
        if self._sent or self._link.waiting:
            self._wake.set()

    def _tidy(self) -> None:
        """Now and then throw away what nobody will come back for."""
        if time.monotonic() < self._next_tidying_s:
            return
        self._next_tidying_s = time.monotonic() + _TIDY_EVERY_S
        if dropped := self.drop_abandoned_uploads(self._now_s()):
            log.info("%s uploads that did not go on were thrown away", dropped)

    async def _work(self, arrivals: Sequence[Arrival], sent: Sequence[UnsentOrders], stepping: bool) -> Turn:
        """Have the writer do its part, again and again while the database is away."""
        reports = [arrival.report for arrival in arrivals]
        while True:
            if self._sent_over != self._link.connection:
                # Another broker may answer now, or the same without its files: they are sent once more.
                sent = ()
            try:
                turn = await asyncio.wrap_future(
                    self._writer.submit(work_on, reports, sent, stepping, self._now_s())
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
        """Keep the link up, and have orders sent again to a broker that lost them."""
        link = self._link
        seen_s = time.monotonic()
        next_room_s = 0.0
        while True:
            if link.connected:
                seen_s = time.monotonic()
            try:
                # A client that did not come back by itself may wait for what never comes.
                if link.closed or time.monotonic() - seen_s > _RECONNECT_S:
                    seen_s = time.monotonic()
                    await asyncio.wait_for(link.connect(), _RECONNECT_S)
                if link.connected and not link.prepared:
                    found = await link.prepare()
                    await self._send_orders_again(found)
                    self.nudge()
                if link.prepared and time.monotonic() >= next_room_s:
                    next_room_s = time.monotonic() + _ROOM_EVERY_S
                    await link.make_room()
            except BROKER_ERRORS as error:
                link.trouble = str(error) or repr(error)
                log.warning("the broker is not well: %s", link.trouble)
            except _DATABASE_AWAY as error:
                link.prepared = False
                log.warning("cannot compare the broker with the database: %s", error)
            except Exception as error:
                # Whatever it is, a coordinator that gives its broker up does nothing any more.
                link.trouble = repr(error)
                log.exception("the connection to the broker failed")
            await asyncio.sleep(_BROKER_PAUSE_S)

    async def _send_orders_again(self, found: int) -> None:
        """Have all orders sent to a broker that was away: what it acknowledged may be gone, or older again.

        A power cut can take the newest orders of a worker and leave those before, which no count shows.
        """
        if not self._began:
            await asyncio.wrap_future(self._writer.submit(raise_sequences, self._now_s()))
            self._began = True
        count = await asyncio.wrap_future(self._writer.submit(count_sent_orders))
        await asyncio.wrap_future(self._writer.submit(mark_all_orders_unsent))
        emptied = found < count
        told = f"It had {found} of {count} orders."
        await self._note(EventKind.BROKER_EMPTIED if emptied else EventKind.BROKER_CONNECTED, told)

    async def _note(self, kind: EventKind, detail: str) -> None:
        """Put into the table of events what happened to the coordinator itself."""
        event = NewEvent(kind, detail=detail)
        with contextlib.suppress(*_DATABASE_AWAY):
            await asyncio.wrap_future(self._writer.submit(add_events, [event], self._now_s()))


def count_sent_orders() -> int:
    """Return how many workers have orders that the broker acknowledged."""
    return Worker.objects.filter(orders_sent_sequence__gt=0).count()


def raise_sequences(now_s: float) -> None:
    """Number the next orders beyond all that any worker can have seen: milliseconds since the Unix epoch.

    Workers heed no orders older than those they know, and a database from a backup went back in its count.
    """
    floor = int(now_s * 1000)
    below = Worker.objects.filter(orders_sequence__lt=floor).exclude(state=WorkerState.REMOVED)
    below.update(orders_sequence=floor)


def work_on(
    reports: Sequence[ReceivedReport], sent: Sequence[UnsentOrders], stepping: bool, now_s: float
) -> Turn:
    """Do the database's part of a turn in one transaction; runs in the writer's thread.

    A report or a step that our own defect makes fail must not stop all others: each report is then taken
    alone, and what fails is logged and told.

    Raises:
        django.db.OperationalError: when the database is away; nothing happened then.
    """
    try:
        with transaction.atomic():
            if sent:
                mark_orders_sent(list(sent), now_s)
            if reports:
                _log_refused(ingest_reports(reports, now_s).refused)
            pause_s = step(now_s) if stepping else None
            return Turn(list_unsent_orders(_MOST_ORDERS), pause_s, ())
    except _DATABASE_AWAY:
        raise
    except Exception:
        log.exception("a turn of the coordinator failed; taking its parts one by one")
        return _work_in_parts(reports, sent, now_s)


def _work_in_parts(reports: Sequence[ReceivedReport], sent: Sequence[UnsentOrders], now_s: float) -> Turn:
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
        return Turn(list_unsent_orders(_MOST_ORDERS), pause_s, defects)
    except _DATABASE_AWAY:
        raise
    except DatabaseError as error:
        return Turn((), pause_s, [*defects, f"orders: {error!r}"])


def _log_refused(refused: Sequence[str]) -> None:
    for sentence in refused:
        log.warning("refused: %s", sentence)
