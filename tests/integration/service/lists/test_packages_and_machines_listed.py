"""Packages say who used them and what is in them; machines what they do, how noisy they are, for whom."""

from __future__ import annotations

import hashlib
import html
import io
import tarfile

import pytest
from django.core.management import call_command
from django.test import Client
from integration.service.api_users import ApiUser, make_package, store
from integration.service.fleets import make_record
from integration.service.small_fleet import Fleet
from msgspec.structs import replace

from datamill.protocol.trial import DisturbanceFacts, TrialRecord
from datamill.service.machines import noise
from datamill.service.models import ExperimentFile, FleetExperiment

#: The package that the fleet's experiment has under this name.
P1 = hashlib.sha256(make_package("# p1\n")).hexdigest()

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


def visit(user: ApiUser, path: str, **asked: str) -> str:
    client = Client()
    client.force_login(user.user)
    response = client.get(path, asked)
    assert response.status_code == 200, response.content
    return html.unescape(response.content.decode())


def test_a_package_names_the_experiments_that_used_it_to_those_who_may_see_them() -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    assert f"/packages/{P1}" in visit(fleet.ada, "/packages")
    page = visit(fleet.ada, f"/packages/{P1}")
    assert f"/experiments/{fleet.number}" in page
    assert "two-loops" in page
    assert "You have not brought a package yet." in visit(bob, "/packages")
    client = Client()
    client.force_login(bob.user)
    for path in (f"/packages/{P1}", f"/packages/{P1}/archive", "/packages/none"):
        assert client.get(path).status_code == 404
    # A name in a private experiment finds nothing for others, whatever they brought themselves.
    assert "No package here has" in visit(bob, "/packages", whose="all", search="p1")
    FleetExperiment.objects.update(public=True)
    assert "two-loops" in visit(bob, f"/packages/{P1}")
    assert P1[:12] in visit(bob, "/packages", whose="all", search="p1")


def test_a_package_shows_its_scripts_and_its_other_versions() -> None:
    ada = ApiUser("ada")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("run.sh", "#!/bin/sh\necho '<b>loud</b>'\n"), ("data/words", "one two")):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755 if name.endswith(".sh") else 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    new = store(packed.getvalue(), ada.user, "words")
    old = store(b"no archive at all", ada.user, "words")
    client = Client()
    client.force_login(ada.user)
    page = client.get(f"/packages/{new}").content.decode()
    assert "echo &#x27;&lt;b&gt;loud&lt;/b&gt;&#x27;" in page
    assert "data/words" in page
    assert f"/packages/{old}" in page
    assert "The archive cannot be read" in client.get(f"/packages/{old}").content.decode()
    assert client.get(f"/packages/{new}/archive").getvalue() == packed.getvalue()


def test_a_machine_shows_what_it_does_and_hides_whose_private_experiment_it_is() -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    fleet.lease()
    assert "two-loops" in visit(fleet.ada, "/workers")
    seen = visit(bob, "/workers")
    assert "a private experiment" in seen
    assert "two-loops" not in seen
    assert "two-loops" not in visit(bob, "/workers/fast")


@pytest.mark.parametrize(
    ("search", "found"), [("FAST", True), ("x86_64 debian", True), ("fast unheard-of", False)]
)
def test_machines_are_found_by_name_and_hardware(search: str, found: bool) -> None:
    fleet = Fleet()
    listed = visit(fleet.ada, "/workers", search=search)
    assert ('href="/workers/fast"' in listed) is found
    assert ("No machine has all of" in listed) is not found


@pytest.mark.parametrize(
    ("search", "found"), [("ASLR", True), ("process randomisation", True), ("aslr unheard-of", False)]
)
def test_factors_are_found_by_name_and_stage(search: str, found: bool) -> None:
    listed = visit(ApiUser("ada"), "/factors", search=search)
    assert ('href="/factors/aslr"' in listed) is found
    assert ("No factor has all of" in listed) is not found


def test_an_owner_sees_who_used_a_machine_and_what_it_earned() -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    fleet.finish()
    page = visit(ApiUser("root", admin=True), "/workers/fast")
    assert "What it did for whom" in page
    assert "Nobody has used it yet" not in page
    assert 'href="/workers/fast"' in visit(bob, "/workers")
    assert "What it did for whom" not in visit(bob, "/workers/fast")


def test_a_machine_with_its_first_attempt_under_way_is_in_use() -> None:
    fleet, root = Fleet(), ApiUser("root", admin=True)
    assert "Nobody has used it yet" in visit(root, "/workers/fast")
    fleet.lease()
    page = visit(root, "/workers/fast")
    assert "Nobody has used it yet" not in page
    assert "Machine time is counted when an attempt ends" in page


def test_noise_is_the_share_of_disturbed_trials_each_beside_those_of_its_experiment() -> None:
    lease = next(iter(Fleet().lease().values()))
    whole = make_record(lease)

    def record(number: int, stolen_ns: int) -> TrialRecord:
        facts = DisturbanceFacts(steal_time_ns=stolen_ns)
        return replace(whole, trial_id=f"t{number}", disturbance=facts)

    first = [record(number, 10**9 if number == 3 else 0) for number in range(8)]
    # Another experiment has a trial of the disturbed one's name.
    second = [record(number, 0) for number in range(8)]
    found = noise.judge_records([first, second, [replace(whole, disturbance=None)]])
    assert (found.judged, found.disturbed, found.rules) == (16, 1, ("steal",))
    # R: prop.test(1, 16, correct = FALSE)
    assert (found.low, found.high) == pytest.approx((0.0111, 0.2833), abs=5e-5)
    assert noise.judge_records([]).judged == 0


@pytest.mark.usefixtures("database")
def test_experiments_of_before_find_their_files_by_the_table_that_a_migration_fills() -> None:
    fleet = Fleet()
    told = set(ExperimentFile.objects.values_list("experiment_id", "kind", "name", "sha256"))
    assert (fleet.number, "package", "p1", P1) in told
    assert len(told) == 2
    try:
        call_command("migrate", "datamill", "0012_factors", verbosity=0)
    finally:
        call_command("migrate", "datamill", verbosity=0)
    assert set(ExperimentFile.objects.values_list("experiment_id", "kind", "name", "sha256")) == told
