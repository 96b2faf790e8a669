"""What the loop does with the database, one turn at a time."""

from __future__ import annotations

import asyncio

import pytest
from django.db import OperationalError, connection
from integration.service.played_fleet import enrol

from datamill.service.coordinator.messages.ingest import Ingested, ReceivedReport, ingest_reports
from datamill.service.coordinator.messages.orders import list_unsent_orders, mark_orders_sent
from datamill.service.files.store import AwayError
from datamill.service.models import Event, FleetWorker
from datamill.service.serving import coordinator_loop
from datamill.service.serving.coordinator_loop import (
    CoordinatorLoop,
    raise_sequences,
    work_on,
)
from datamill.service.serving.storage.database_lock import DatabaseTakenError, hold_database
from datamill.service.serving.storage.writer import Writer, run_as_writer, set_writer

NOW_S = 2_000_000_000.0


@pytest.mark.usefixtures("database")
def test_orders_after_a_return_from_backup_are_newer_than_any_before() -> None:
    enrol(["one"])
    raise_sequences(NOW_S)
    before = list_unsent_orders(10, NOW_S)
    mark_orders_sent(before, NOW_S)
    # The backup was made before all that.
    FleetWorker.objects.update(orders_sequence=1, orders_sent_sequence=1)
    raise_sequences(NOW_S + 1)
    (after,) = list_unsent_orders(10, NOW_S)
    assert after.sequence > before[0].sequence


def test_a_storage_that_is_away_is_no_defect_of_what_follows_a_screening(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def find_nothing(_: int) -> None:
        raise AwayError("the storage of files cannot be used just now")

    monkeypatch.setattr(coordinator_loop, "_INFERENCE_PAUSE_S", 0.0)
    loop = CoordinatorLoop(None, None, None, lambda: NOW_S)  # type: ignore[arg-type]
    before = loop.defect
    loop.follow_up = find_nothing
    asyncio.run(loop._infer((7,)))
    assert loop.defect == before
    assert "what follows experiment 7 waits" in caplog.text


@pytest.mark.usefixtures("memory_database")
def test_a_report_that_our_own_defect_cannot_take_stops_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_on_poison(reports: list[ReceivedReport], now_s: float) -> Ingested:
        if any(report.payload == b"poison" for report in reports):
            raise KeyError("a defect")
        return ingest_reports(reports, now_s)

    monkeypatch.setattr(coordinator_loop, "ingest_reports", fail_on_poison)
    reports = [ReceivedReport("wnobody", payload) for payload in (b"first", b"poison", b"last")]
    turn = work_on(reports, [], True, NOW_S)
    assert len(turn.defects) == 1
    assert "wnobody" in turn.defects[0]
    assert Event.objects.filter(kind="report refused").count() == 2


def test_the_loop_throws_abandoned_uploads_away_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [100.0]
    monkeypatch.setattr(coordinator_loop.time, "monotonic", lambda: clock_s[0])
    loop = CoordinatorLoop(None, None, None, lambda: NOW_S)  # type: ignore[arg-type]
    looked: list[float] = []
    loop.drop_abandoned_uploads = lambda now_s: looked.append(now_s) or 1  # type: ignore[func-returns-value]
    for passed_s in (0.0, 60.0, 3500.0, 3601.0):
        clock_s[0] = 100.0 + passed_s
        loop._tidy()
    assert looked == [NOW_S, NOW_S]


@pytest.mark.usefixtures("memory_database")
def test_a_turn_that_loses_its_database_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: float) -> float:
        raise OperationalError("gone")

    monkeypatch.setattr(coordinator_loop, "step", fail)
    with pytest.raises(OperationalError):
        work_on([ReceivedReport("wnobody", b"x")], [], True, NOW_S)
    assert not Event.objects.exists()


@pytest.mark.usefixtures("database")
def test_what_is_written_elsewhere_goes_through_the_writer_and_wakes_the_loop() -> None:
    woken: list[int] = []
    assert run_as_writer(max, 1, 2) == 2
    if connection.vendor == "sqlite":
        return  # a database in memory belongs to one thread
    writer = Writer(lambda: woken.append(1))
    set_writer(writer)
    try:
        assert run_as_writer(FleetWorker.objects.count) == 0
        assert woken == [1]
        # The writer has the lock of the database: no other connection gets it.
        with pytest.raises(DatabaseTakenError):
            hold_database(connection)
        with pytest.raises(ZeroDivisionError):
            run_as_writer(divmod, 1, 0)
        assert woken == [1, 1]
    finally:
        set_writer(None)
        writer.close()
    hold_database(connection)
    connection.close()
