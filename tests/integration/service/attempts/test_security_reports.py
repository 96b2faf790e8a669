"""Workers that lie: what they send changes nothing but their own attempts, and stops nobody else's."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    digest,
    find_attempt,
    hello,
    join,
    list_leases,
    make_phase,
    make_record,
    report,
    say,
    submit,
    tell_record,
)

from datamill.cli.clean_console import CleanConsole
from datamill.cli.console import clean_for_terminal
from datamill.protocol.fleet import ArtifactFile, CompilerVersion, GaveUp, Lease, Output, Refused, Taken
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Artifact, Attempt, Event, FleetExperiment, FleetWorker, Trial


def lease_two() -> tuple[str, Lease, str, Lease]:
    """A hostile worker and an honest one, each with a trial of one experiment."""
    bad, good = join().worker_id, join().worker_id
    submit([bad, good])
    step(START_S)
    leases = list_leases()
    return bad, leases[bad], good, leases[good]


@pytest.mark.usefixtures("database")
def test_no_report_touches_anothers_attempt() -> None:
    bad, _, good, lease = lease_two()
    told = [
        Taken(lease.attempt),
        tell_record(lease),
        Refused(lease.attempt, "disk", "no"),
        GaveUp(lease.attempt, "no"),
        Output(lease.attempt, "run", 0, "no"),
        hello(lease.attempt),
    ]
    for content in told:
        say(bad, content)
        # On its own subject, in the other's name.
        ingest_reports([ReceivedReport(bad, report(good, content).payload)], START_S)
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.record, attempt.trial.state) == ("leased", None, "leased")
    assert find_violations() == []
    say(good, tell_record(lease))
    assert find_attempt(lease.attempt).state == "counted"


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff" * 1000,
        b"[" * 4_000_000,
        b'{"content":' * 500_000,
        b'{"schema":1e400}',
        b'"' + b"\\ud800" + b'"',
        b"{" + b'"a":1,' * 1_000_000 + b'"b":2}',
        b" " * (8 << 20) + b"{}",
    ],
    ids=["empty", "bytes", "deep list", "deep object", "huge number", "surrogate", "many fields", "blank"],
)
def test_garbage_beside_an_honest_report_changes_nothing(payload: bytes) -> None:
    bad, own, good, lease = lease_two()
    told = ingest_reports([ReceivedReport(bad, payload), report(good, tell_record(lease))], START_S)
    assert len(told.refused) == 1
    assert find_attempt(lease.attempt).state == "counted"
    assert find_attempt(own.attempt).state == "leased"
    assert Event.objects.filter(kind="report refused", worker_id=bad).count() == 1


@pytest.mark.usefixtures("memory_database")
def test_a_record_deep_in_itself_is_refused_and_its_attempt_ends() -> None:
    bad, own, _, _ = lease_two()
    whole = report(bad, tell_record(own)).payload
    deep = b'"metrics":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_000
    ingest_reports([ReceivedReport(bad, whole.replace(b'"metrics":{}', deep))], START_S)
    # Too deep even to find out what attempt it is of: its deadline ends that.
    assert find_attempt(own.attempt).state in ("faulty", "leased")
    assert Event.objects.filter(kind="report refused", worker_id=bad).count() == 1
    step(START_S + 100_000)
    assert find_attempt(own.attempt).state in ("faulty", "lost")
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_fifty_thousand_artifacts_are_refused_quickly() -> None:
    bad, own, _, _ = lease_two()
    many = tuple(ArtifactFile(f"f{n}", digest(str(n)), 1) for n in range(50_000))
    say(bad, tell_record(own, artifacts=many))
    assert find_attempt(own.attempt).state == "faulty"
    assert not Artifact.objects.exists()


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("missing", ["run", "collect"])
def test_completed_without_its_phases_does_not_count(missing: str) -> None:
    bad, own, _, _ = lease_two()
    say(bad, tell_record(own, make_record(own, **{missing: None})))
    assert find_attempt(own.attempt).state == "faulty"


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    "changes",
    [
        {"wall_time_ns": -1},
        {"user_time_ns": -5},
        {"peak_memory_bytes": -1},
        {"wall_time_ns": 10**30},
        {"exit_code": 1},
        {"timed_out": True},
        {"signal": 9},
    ],
    ids=str,
)
def test_what_no_run_that_completed_can_measure_does_not_count(changes: dict[str, int]) -> None:
    bad, own, _, _ = lease_two()
    say(bad, tell_record(own, make_record(own, run=make_phase(**changes))))
    assert find_attempt(own.attempt).state == "faulty"


@pytest.mark.usefixtures("memory_database")
def test_metrics_that_are_no_numbers_do_not_count() -> None:
    bad, own, _, _ = lease_two()
    payload = report(bad, tell_record(own)).payload.replace(b'"metrics":{}', b'"metrics":{"m":[1e999]}')
    ingest_reports([ReceivedReport(bad, payload)], START_S)
    assert find_attempt(own.attempt).state == "faulty"


@pytest.mark.usefixtures("database")
def test_two_machines_with_one_identity_count_nothing_twice_and_are_stopped() -> None:
    twin, own, _, _ = lease_two()
    say(twin, tell_record(own), START_S + 1, boot_id="boot-a")
    other = make_record(own, run=make_phase(wall_time_ns=777))
    say(twin, tell_record(own, other), START_S + 2, boot_id="boot-b")
    assert Attempt.objects.filter(trial=find_attempt(own.attempt).trial, state="counted").count() == 1
    kept = msgspec.json.decode(bytes(find_attempt(own.attempt).record or b""))
    assert kept["run"]["wall_time_ns"] == 1000
    worker = FleetWorker.objects.get(pk=twin)
    assert worker.state == "drained"
    assert "its own state folder" in worker.state_reason
    assert Event.objects.filter(kind="worker is two machines", worker_id=twin).count() == 1
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_report_repeated_byte_by_byte_is_one_machine() -> None:
    worker_id, own, _, _ = lease_two()
    message = report(worker_id, tell_record(own))
    for _ in range(3):
        ingest_reports([message], START_S + 1)
    assert FleetWorker.objects.get(pk=worker_id).state == "idle"


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("clock_s", [0.0, START_S - 86_400, START_S + 86_400])
def test_a_wrong_clock_is_told_and_changes_no_result(clock_s: float) -> None:
    worker_id, own, _, _ = lease_two()
    ingest_reports([report(worker_id, tell_record(own), clock_s=clock_s)], START_S)
    assert find_attempt(own.attempt).state == "counted"
    event = Event.objects.get(kind="clock off", worker_id=worker_id)
    assert "the coordinator's" in event.detail


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    "changes", [{"schema": 99}, {"schema": 0}, {"trial_schema": 99}, {"trial_schema": 0}]
)
def test_a_worker_of_another_version_is_stopped_with_a_sentence(changes: dict[str, int]) -> None:
    worker_id = join().worker_id
    say(worker_id, hello(**changes))
    worker = FleetWorker.objects.get(pk=worker_id)
    assert worker.state == "drained"
    assert "speaks version" in worker.state_reason


@pytest.mark.usefixtures("memory_database")
def test_a_huge_inventory_is_kept_in_bounds() -> None:
    worker_id = join().worker_id
    compilers = tuple(CompilerVersion("c" * 1000, str(n)) for n in range(5000))
    say(worker_id, hello(cpu_model="x" * 1_000_000, compilers=compilers))
    worker = FleetWorker.objects.get(pk=worker_id)
    assert all(len(level) <= 200 for level in worker.hardware.values())
    assert len(bytes(worker.inventory)) < 1 << 20
    assert Event.objects.filter(kind="report refused", worker_id=worker_id).count() == 1


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_sends_nothing_but_nonsense_does_not_fill_the_account() -> None:
    bad, own, _, _ = lease_two()
    for number in range(40):
        reports = [ReceivedReport(bad, b"nonsense %d %d" % (number, n)) for n in range(50)]
        ingest_reports(reports, START_S + number)
    assert Event.objects.filter(worker_id=bad, kind="report refused").count() <= 200
    assert find_attempt(own.attempt).state in ("leased", "lost")
    assert FleetExperiment.objects.get().state == "running"
    assert Trial.objects.exists()


def test_terminals_obey_nothing_that_others_wrote(tmp_path: Path) -> None:
    evil = "a\x1b]0;owned\x07\x1b[2J\x9b2Jb\u202egnp.exe\r\x08c\td"
    assert "\x1b" not in clean_for_terminal(evil)
    file = tmp_path / "terminal"
    with file.open("w") as terminal:
        console = CleanConsole(file=terminal, force_terminal=True, width=200, highlight=False)
        console.print(evil, markup=False, style="green")
    printed = file.read_text()
    rest = printed.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert "\x1b" not in rest
    assert not {"\x07", "\x08", "\x9b", "\u202e"}.intersection(rest)
