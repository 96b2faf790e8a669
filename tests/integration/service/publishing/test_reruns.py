"""Experiments run again by one click, and the verdict on both pages."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.fleets import make_record
from integration.service.small_fleet import Fleet
from msgspec.structs import replace

import datamill
from datamill.conduct.fleet.coordinator_records import read_record
from datamill.protocol.api.publications import RerunLine
from datamill.service.models import FleetExperiment, Rerun

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


def log_in(user: ApiUser) -> Client:
    client = Client()
    client.force_login(user.user)
    return client


def open_part(client: Client, number: int) -> str:
    answer = client.get(f"/experiments/{number}/reruns")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def finish_later(fleet: Fleet) -> None:
    """End all trials with records of another hour: those of tests are all of the same."""
    while leases := fleet.lease():
        for worker_id, lease in leases.items():
            record = make_record(lease)
            later = record.started_unix_ns + 3_600_000_000_000
            length = record.ended_unix_ns - record.started_unix_ns
            moved = replace(record, started_unix_ns=later, ended_unix_ns=later + length)
            fleet.end(worker_id, lease, moved)


def run_again(client: Client, number: int, margin: str = "0.2") -> Any:
    return client.post(f"/experiments/{number}/rerun", {"margin": margin})


def test_another_user_runs_a_public_experiment_again_and_both_pages_have_the_verdict(tmp_path: Path) -> None:
    fleet = Fleet(public=True)
    fleet.finish()
    bob = ApiUser("bob")
    client = log_in(bob)
    shown = client.get(f"/experiments/{fleet.number}/rerun", follow=True)
    assert shown.status_code == 200
    assert "8" in shown.content.decode()
    answer = run_again(client, fleet.number)
    assert answer.status_code == 302, answer.content.decode()
    rerun = Rerun.objects.get()
    again = FleetExperiment.objects.get(pk=rerun.experiment_id)
    original = FleetExperiment.objects.get(pk=fleet.number)
    assert (again.owner.username, again.text, rerun.margin) == ("bob", original.text, 0.2)
    assert json.loads(bytes(again.head))["packages"] == json.loads(bytes(original.head))["packages"]
    assert "verdict comes when both have ended" in open_part(client, again.pk)
    finish_later(fleet)
    page = open_part(client, again.pk)
    fleet.fetch(tmp_path / "original")
    fleet.number = again.pk
    fleet.ada = bob
    fleet.fetch(tmp_path / "again")
    found = datamill.reproduce(tmp_path / "original", tmp_path / "again", margin=0.2)
    for sentence in found.lead:
        assert sentence in page
    kept = Rerun.objects.get()
    assert kept.verdict is not None
    assert json.loads(bytes(kept.verdict))["verdict"] == found.found.verdict
    assert found.found.verdict in open_part(log_in(ApiUser("carol")), original.pk)
    for number in (original.pk, again.pk):
        assert f"/experiments/{number}/reruns" in client.get(f"/experiments/{number}").content.decode()
    with pytest.raises(IntegrityError, match="cannot be changed"), transaction.atomic():
        Rerun.objects.update(margin=0.5)


def test_what_nobody_may_see_is_not_run_again_and_not_named() -> None:
    fleet = Fleet()
    fleet.finish()
    bob = log_in(ApiUser("bob"))
    assert run_again(bob, fleet.number).status_code == 404
    ada = log_in(fleet.ada)
    assert run_again(ada, fleet.number, margin="0.5").status_code == 400
    assert run_again(ada, fleet.number).status_code == 302
    rerun = Rerun.objects.get()
    FleetExperiment.objects.filter(pk=rerun.pk).update(public=True)
    # Bob may see the re-run, and not what it runs again.
    assert f"#{fleet.number}" not in open_part(bob, rerun.pk)
    assert bob.get("/compare", {"id": [fleet.number, rerun.pk]}).status_code == 400


def test_an_experiment_that_goes_on_is_not_run_again() -> None:
    fleet = Fleet()
    answer = run_again(log_in(fleet.ada), fleet.number)
    assert answer.status_code == 400
    assert "has not ended" in answer.content.decode()
    assert not Rerun.objects.exists()


def test_versions_stand_side_by_side_with_what_differs() -> None:
    fleet = Fleet()
    fleet.finish()
    client = log_in(fleet.ada)
    run_again(client, fleet.number)
    rerun = Rerun.objects.get()
    page = html.unescape(client.get("/compare", {"id": [fleet.number, rerun.pk]}).content.decode())
    assert "The experiment file is the same." in page
    assert "The packages are the same" in page
    assert "without fast, slow" in page
    text = FleetExperiment.objects.get(pk=rerun.pk).text
    FleetExperiment.objects.filter(pk=rerun.pk).update(text=text + "# <b>another</b> line\n")
    page = client.get("/compare", {"id": f"{fleet.number} {rerun.pk}"}).content.decode()
    assert "<ins>+ # &lt;b&gt;another" in page
    for asked in ("x", str(fleet.number), "1 2 3 4 5 6 7 8 9", "9" * 30, "²"):
        assert client.get("/compare", {"id": asked}).status_code == 400
    assert client.get("/compare").status_code == 200


def test_programs_run_an_experiment_again_and_read_its_verdict() -> None:
    fleet = Fleet(public=True)
    fleet.finish()
    bob = ApiUser("bob")
    status, accepted = bob.post(f"/experiments/{fleet.number}/rerun", {"margin": 0.1})
    assert (status, accepted["original"], accepted["trials"]) == (200, fleet.number, 8)
    (waiting,) = json.loads(bob.read(f"/experiments/{fleet.number}/reruns"))
    assert (waiting["id"], waiting["verdict"], waiting["judgement"]) == (accepted["id"], "", None)
    finish_later(fleet)
    told = bob.read(f"/experiments/{fleet.number}/reruns")
    (judged,) = json.loads(told)
    # The command line reads it as a record.
    (line,) = read_record(told, list[RerunLine], "reruns")
    assert (line.verdict, json.loads(bytes(line.judgement))) == (judged["verdict"], judged["judgement"])
    assert judged["verdict"] == judged["judgement"]["verdict"] != ""
    assert judged["judgement"]["margin"] == 0.1
    assert bob.post(f"/experiments/{fleet.number}/rerun", {"margin": 2})[0] == 422
    assert json.loads(bob.read("/publications")) == []
