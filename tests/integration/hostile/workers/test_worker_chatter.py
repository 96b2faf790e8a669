"""A worker that tells ever new things of itself: the account of events, kept for ever, stays small."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    fail_record,
    find_attempt,
    hello,
    join,
    lease_one,
    make_record,
    report,
    say,
    tell_record,
)

from datamill.protocol.fleet import Goodbye, Policy, Session
from datamill.service.coordinator.joining.enrolment import MOST_POLICY_BYTES
from datamill.service.coordinator.messages.chatter import MOST_TOLD
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.messages.refusals import MOST_TOLD as MOST_REFUSED
from datamill.service.models import Event, FleetWorker

REPORTS = 3 * MOST_TOLD


def boot_again(worker_id: str, number: int) -> list[ReceivedReport]:
    return [report(worker_id, hello(), boot_id=f"boot-{number + 10}")]


def change(worker_id: str, number: int) -> list[ReceivedReport]:
    return [report(worker_id, hello(distribution=f"debian {number + 10}"))]


def come_and_go(worker_id: str, number: int) -> list[ReceivedReport]:
    session = Session(number + 10, f"s{number}")
    greeting = msgspec.structs.replace(hello(), session=session)
    return [report(worker_id, greeting), report(worker_id, Goodbye(session))]


def turn_the_clock(worker_id: str, number: int) -> list[ReceivedReport]:
    now_s = START_S + 60.0 + number // 50 * 50
    return [report(worker_id, hello(), clock_s=now_s + 1e6 * ((number + 1) % 2))]


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("tell", [boot_again, change, come_and_go, turn_the_clock])
def test_a_worker_cannot_fill_the_account_with_what_it_says_of_itself(
    tell: Callable[[str, int], list[ReceivedReport]],
) -> None:
    bad, good = join("bad").worker_id, join("good").worker_id
    for first in range(0, REPORTS, 50):
        reports = [one for number in range(first, first + 50) for one in tell(bad, number)]
        ingest_reports(reports, START_S + 60.0 + first)
    told = Event.objects.filter(worker_id=bad).count()
    # With those of joining, and what this batch of refusals may add.
    assert MOST_TOLD <= told <= MOST_TOLD + MOST_REFUSED + 5
    say(good, hello(), START_S + 1000.0, boot_id="another")
    assert Event.objects.filter(worker_id=good, kind="worker rebooted").exists()
    # An hour later it is heard again.
    ingest_reports(tell(bad, REPORTS), START_S + 6000.0)
    assert Event.objects.filter(worker_id=bad).count() > told


@pytest.mark.usefixtures("memory_database")
def test_a_worker_cannot_fill_the_account_with_a_report_that_it_repeats() -> None:
    worker_id, lease = lease_one()
    for _ in range(REPORTS // 50):
        ingest_reports([report(worker_id, tell_record(lease))] * 50, START_S + 1.0)
    assert find_attempt(lease.attempt).state == "counted"
    assert Event.objects.filter(kind="report repeated").count() == MOST_TOLD


@pytest.mark.usefixtures("memory_database")
def test_a_policy_without_end_is_refused() -> None:
    worker = join("bad")
    packages = tuple(f"{number:064x}" for number in range(MOST_POLICY_BYTES // 64))
    refused = say(worker.worker_id, hello(policy=Policy(packages=packages))).refused
    assert "its policy has" in refused[0]
    assert len(bytes(FleetWorker.objects.get().policy)) < 1000


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_a_record_with_a_number_that_no_table_holds_is_refused(outcome: str) -> None:
    worker_id, lease = lease_one()
    mark = (1 << 61) + 7
    record = make_record(lease) if outcome == "completed" else fail_record(lease)
    host = msgspec.structs.replace(record.host, memory_bytes=mark)
    sent = report(worker_id, tell_record(lease, msgspec.structs.replace(record, host=host)))
    told = sent.payload.replace(str(mark).encode(), b"1" + b"0" * 400)
    assert "more than 64 bits" in ingest_reports([ReceivedReport(worker_id, told)], START_S + 1.0).refused[0]
    assert find_attempt(lease.attempt).state == "faulty"
