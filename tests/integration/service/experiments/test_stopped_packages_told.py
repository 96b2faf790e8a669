"""That a package was stopped is told live, on its experiment's page, over the API, and in the bundle."""

from __future__ import annotations

import html
import io
from pathlib import Path

import msgspec
import pytest
from django.test import Client
from integration.service.api.test_api_stream import quick, read_stream
from integration.service.api_users import TEXT
from integration.service.fleets import fail_record
from integration.service.small_fleet import Fleet
from rich.console import Console

import datamill
from datamill.cli.fleet.watch import FleetProgress
from datamill.results.bundles.trial_summary import list_problems

__all__ = ["quick"]

pytestmark = pytest.mark.usefixtures("data_folder")

WHY = "package p2 is stopped: its first 3 trials failed alike. it went wrong"


def run_until_p2_is_stopped() -> Fleet:
    """An experiment of which one package fails in each trial, on whatever machine, to its end."""
    fleet = Fleet(text=TEXT.replace("replicates = 2", "replicates = 4"))
    while leases := fleet.lease():
        for worker_id, lease in leases.items():
            fleet.end(worker_id, lease, fail_record(lease) if lease.spec.package.name == "p2" else None)
    return fleet


@pytest.mark.usefixtures("database")
def test_a_stopped_package_is_told_by_stream_page_and_api() -> None:
    fleet = run_until_p2_is_stopped()
    status, told = fleet.ada.get(f"/experiments/{fleet.number}")
    assert status == 200
    (stopped,) = told["stopped"]
    assert stopped["package"] == "p2"
    assert stopped["reason"] == WHY
    assert told["state"] == "completed"
    assert told["trials"]["counted"] + told["trials"]["cancelled"] == 16
    events = read_stream(fleet.ada, fleet.number)
    (event,) = (item for item in events if getattr(item.content, "kind", "") == "package stopped")
    assert event.content.detail.startswith(WHY)
    client = Client()
    client.force_login(fleet.ada.user)
    for path in (f"/experiments/{fleet.number}", f"/experiments/{fleet.number}/progress"):
        assert WHY in html.unescape(client.get(path).content.decode())


@pytest.mark.usefixtures("database")
def test_who_watches_is_told_at_once_what_is_wrong() -> None:
    fleet = run_until_p2_is_stopped()
    printed = io.StringIO()
    with FleetProgress(Console(file=printed, width=200), fleet.number) as progress:
        for event in read_stream(fleet.ada, fleet.number):
            progress.show(event)
    assert WHY in printed.getvalue()
    assert " cancelled), 0 left" in printed.getvalue()


@pytest.mark.usefixtures("database")
def test_bundle_and_answer_name_the_stopped_package_as_those_of_a_local_run_do(tmp_path: Path) -> None:
    fleet = run_until_p2_is_stopped()
    bundle, records, _ = fleet.fetch(tmp_path / "bundle")
    left = sum(trial.package == "p2" for trial in bundle.design.trials) - sum(
        record.package == "p2" for record in records
    )
    warning = f"of package p2 failed alike (it went wrong), and {left} of its trials did not run"
    answered = datamill.answer(tmp_path / "bundle")
    assert any(warning in text for text in answered.answer.warnings)
    problems = list_problems(answered.trials, answered.analysis.table, bundle)
    assert any(f"{left} of 16 trials were left out, since package p2 failed" in text for text in problems)
    _, told = fleet.ada.get(f"/experiments/{fleet.number}/answer")
    assert any(warning in text for text in told["warnings"])
    fleet_facts = msgspec.json.decode((bundle.folder / "fleet.json").read_bytes())
    assert fleet_facts["stopped"] == {"p2": WHY}
