"""Bugs to plant, one at a time, into the coordinator, the broker or the agent: the oracle must find each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from simulation.bugs.planting import plant


@plant
def late_records_count() -> None:
    """A record that comes when another counts takes its place."""
    from datamill.service.coordinator.leasing import ledger
    from datamill.service.states import TrialState

    count = ledger.Ledger.count

    def count_always(self: ledger.Ledger, attempt: ledger.AttemptEntry, *told: Any, **more: Any) -> None:
        if attempt.trial.state == TrialState.COUNTED:
            for (guard,) in _read("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
                _read(f"DROP TRIGGER {guard}")
            _read(
                "UPDATE datamill_attempt SET state = 'late' WHERE state = 'counted' AND trial_id = ?",
                attempt.trial.id,
            )
            attempt.trial.state = TrialState.LEASED
        count(self, attempt, *told, **more)

    ledger.Ledger.count = count_always  # type: ignore[method-assign]


@plant
def leases_go_to_two() -> None:
    """Orders of one worker carry another's lease."""
    from datamill.protocol.fleet import Orders
    from datamill.service.coordinator.messages.orders import UnsentOrders
    from datamill.service.serving import coordinator_loop

    list_unsent = coordinator_loop.list_unsent_orders

    def list_twice(most: int, now_s: float, again: Collection[str] = ()) -> list[UnsentOrders]:
        unsent = list_unsent(most, now_s, again)
        orders = [msgspec.json.decode(item.payload, type=Orders) for item in unsent]
        lease = next((item.lease for item in orders if item.lease is not None), None)
        return [
            item
            if told.lease is not None
            else UnsentOrders(
                item.worker_id, item.sequence, msgspec.json.encode(msgspec.structs.replace(told, lease=lease))
            )
            for item, told in zip(unsent, orders, strict=True)
        ]

    coordinator_loop.list_unsent_orders = list_twice


@plant
def spool_is_dropped_before_its_receipt() -> None:
    """The agent forgets a report once the broker took it."""
    from simulation.agent import Agent

    catch_up = Agent._catch_up

    def forget(self: Agent) -> Any:
        done = yield from catch_up(self)
        if done:
            for attempt in self._files.list_spooled():
                self._machine.disk.remove(f"spool/{attempt}")
        return done

    Agent._catch_up = forget  # type: ignore[method-assign]


@plant
def records_are_written_anew() -> None:
    """A record is stored as Python writes it, not as it came."""
    from datamill.protocol.trial import TrialRecord
    from datamill.service.coordinator.leasing import ledger

    count = ledger.Ledger.count

    def count_anew(
        self: ledger.Ledger, attempt: ledger.AttemptEntry, outcome: str, record: bytes, **more: Any
    ) -> None:
        anew = msgspec.json.encode(msgspec.json.decode(record, type=TrialRecord))
        count(self, attempt, outcome, anew, **more)

    ledger.Ledger.count = count_anew  # type: ignore[method-assign]


@plant
def deadlines_are_forgotten() -> None:
    """Nobody looks at deadlines: what is lost stays lost."""
    from datamill.service.coordinator import step

    step.expire_leases = lambda _now_s: 0


@plant
def records_are_not_checked() -> None:
    """A report of another package, seed or design point counts."""
    from datamill.service.coordinator.messages import ingest

    ingest.find_fault = lambda _record, **_leased: ""


@plant
def anyone_may_report() -> None:
    """A worker may end another's attempt."""
    from datamill.service.coordinator.messages import ingest

    def find(self: Any, _worker: Any, key: str) -> Any:
        return self.ledger.attempts.get(key)

    ingest._Batch._find_attempt = find  # type: ignore[method-assign]
    ingest._Batch._is_anothers = lambda _self, _worker, _key: False  # type: ignore[method-assign]


@plant
def losses_are_not_told() -> None:
    """No event tells of lost attempts."""
    from datamill.service.coordinator.leasing import ledger
    from datamill.service.coordinator.state import events

    add_events = ledger.add_events

    def add_some(told: Iterable[events.NewEvent], now_s: float) -> None:
        add_events([event for event in told if event.kind != events.EventKind.LOST], now_s)

    ledger.add_events = add_some


@plant
def reports_are_acknowledged_unread() -> None:
    """Half of the reports are acknowledged at the broker, receipted, and never stored."""
    from datamill.service.coordinator.messages import ingest
    from datamill.service.serving import coordinator_loop

    def skip_records(self: Any, worker: Any, attempt: Any, content: Any) -> None:
        if attempt.number % 2 == 0:
            take(self, worker, attempt, content)

    take = ingest._Batch._take_record
    ingest._Batch._take_record = skip_records  # type: ignore[method-assign]
    assert coordinator_loop.ingest_reports is ingest.ingest_reports


@plant
def drained_workers_are_leased() -> None:
    """A drained worker gets further trials."""
    from datamill.service.coordinator.sharing import waiting

    waiting._IDLE = waiting._IDLE.replace("w.state = 'idle'", "w.state IN ('idle', 'drained')")


@plant
def any_goodbye_is_heeded() -> None:
    """A goodbye marks its worker away whichever session it ends."""
    from datamill.service.coordinator.leasing import ledger

    part = ledger.Ledger.part

    def part_always(self: ledger.Ledger, worker: ledger.WorkerEntry, session: Any) -> None:
        kept = worker.sessions
        worker.sessions = [(session.number, session.id)]
        part(self, worker, session)
        worker.sessions = kept

    ledger.Ledger.part = part_always  # type: ignore[method-assign]


@plant
def reports_are_not_repeated() -> None:
    """A report that was lost on its way is never sent again over the same connection."""
    from simulation.agent import Agent

    Agent._say_again = lambda self: setattr(self, "_again_s", None)  # type: ignore[method-assign]


@plant
def failing_packages_go_on() -> None:
    """A package whose first trials fail alike is leased like any other."""
    from datamill.service.coordinator.leasing import ledger

    ledger.judge_ended_trials = lambda _ended, _now_s: []


@plant
def levels_are_never_to_blame() -> None:
    """A package is stopped after three failures at one level, or on one machine."""
    from datamill.service.coordinator.leasing import standings

    standings._list_varied = lambda _experiment_id, _sha256: set()


@plant
def stops_are_not_told() -> None:
    """A package is stopped and no event says so."""
    from datamill.service.coordinator.leasing import ledger

    judge = ledger.judge_ended_trials

    def judge_silently(ended: Any, now_s: float) -> list[Any]:
        judge(ended, now_s)
        return []

    ledger.judge_ended_trials = judge_silently


@plant
def stopped_packages_are_retried() -> None:
    """A trial that was under way when its package was stopped is planned again when its attempt fails."""
    from datamill.service.coordinator.leasing import ledger

    ledger.SELECT_ATTEMPTS = ledger.SELECT_ATTEMPTS.replace("s.id IS NOT NULL", "0")


def _read(sql: str, *values: object) -> Sequence[Any]:
    from django.db import connection

    return connection.connection.execute(sql, values).fetchall()  # type: ignore[no-any-return]
