"""Reports that are almost right, as a worker can make them: they stop nobody and touch nothing of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integration.hostile.workers.mutations import mutate
from integration.service.databases import empty_database
from integration.service.fleets import START_S, find_attempt, join, list_leases, report, submit, tell_record
from running.nightly import choose_count

from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetWorker

EXAMPLES = Path(__file__).parents[4] / "protocol" / "reports" / "examples"
KINDS = sorted(file.stem for file in EXAMPLES.glob("worker-report-*.json"))
usual = hypothesis.settings(
    max_examples=choose_count(25, 2000),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def fill_example(kind: str, worker_id: str, attempt: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return our example of a kind of report as if this worker said it of its own attempt."""
    message: dict[str, Any] = json.loads((EXAMPLES / f"{kind}.json").read_text())
    message["worker_id"] = worker_id
    content = message["content"]
    if "attempt" in content:
        content["attempt"] = attempt
    if "record" in content:
        content["record"] = own["content"]["record"]
    return message


def encode(message: object) -> bytes:
    """Return a message as JSON, with whatever no careful writer would write."""
    return json.dumps(message).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_of_any_form_changes_nothing_of_others(memory_database: str, kind: str) -> None:
    assert memory_database == "sqlite"

    @usual
    @given(data=st.data())
    def send(data: st.DataObject) -> None:
        empty_database()
        bad, good = join("bad").worker_id, join("good").worker_id
        submit([bad, good])
        step(START_S)
        leases = list_leases()
        own = json.loads(report(bad, tell_record(leases[bad])).payload)
        message = fill_example(kind, bad, leases[bad].attempt, own)
        payload = encode(data.draw(mutate(message)))
        refused = ingest_reports([ReceivedReport(bad, payload)], START_S).refused
        events = Event.objects.filter(kind="report refused")
        assert {event.worker_id for event in events} <= {bad}
        assert bool(refused) == events.exists()
        assert find_attempt(leases[good].attempt).state == "leased"
        assert FleetWorker.objects.get(pk=good).state == "busy"
        # Neither does what came stop the coordinator's turns, nor the honest worker's report.
        step(START_S + 1)
        ingest_reports([report(good, tell_record(leases[good]))], START_S + 1)
        assert find_attempt(leases[good].attempt).state == "counted"
        assert find_violations() == []

    send()


@pytest.mark.usefixtures("memory_database")
def test_bytes_of_any_kind_are_refused_and_name_who_sent_them() -> None:
    @usual
    @given(start=st.integers(0, 3000), junk=st.binary(max_size=40), kind=st.sampled_from(KINDS))
    def send(start: int, junk: bytes, kind: str) -> None:
        empty_database()
        bad = join("bad").worker_id
        whole = (EXAMPLES / f"{kind}.json").read_bytes()
        payload = whole[: start % len(whole)] + junk + whole[start % len(whole) + len(junk) :]
        ingest_reports([ReceivedReport(bad, payload)], START_S)
        assert {event.worker_id for event in Event.objects.filter(kind="report refused")} <= {bad}
        assert find_violations() == []

    send()
