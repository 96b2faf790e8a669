"""Which workers the API plans an experiment for, and why others are left out."""

from __future__ import annotations

import pytest
from integration.service.api_users import (
    TEXT,
    ApiUser,
    make_submission,
)
from integration.service.fleets import (
    START_S,
    join,
)

from datamill.protocol.fleet import GuestOffer, Policy
from datamill.protocol.offers import FactorOffer
from datamill.service.coordinator.presence.members import drain_worker

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_an_experiment_that_no_worker_can_run_says_what_excludes_each() -> None:
    ada = ApiUser("ada")
    status, refused = ada.post("/experiments/plan", make_submission(ada.user))
    assert (status, refused["message"]) == (400, "the fleet has no workers")
    join("picky", policy=Policy(users=("bob",)))
    join("tired")
    drain_worker("tired", ada.user, START_S)
    status, refused = ada.post("/experiments/plan", make_submission(ada.user))
    assert status == 400
    assert "picky: its owner does not allow experiments of ada" in refused["message"]
    assert "tired: it is drained: by ada" in refused["message"]
    join("willing", policy=Policy(package_bytes=10**6))
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert [worker["name"] for worker in plan["workers"]] == ["willing"]
    assert {item["name"] for item in plan["ineligible"]} == {"picky", "tired"}


@pytest.mark.usefixtures("database")
def test_folders_that_a_package_needs_are_planned_where_owners_show_them() -> None:
    ada = ApiUser("ada")
    text = TEXT.replace("[[package]]\n", '[[package]]\nfolders = ["/srv/spec2017"]\n', 1)
    assert text != TEXT
    join("usual")
    join("other", policy=Policy(folders=("/srv/spec2006",)))
    status, refused = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert status == 400
    assert "usual: its owner does not show /srv/spec2017" in refused["message"]
    status, refused = ada.post("/experiments", make_submission(ada.user, text))
    assert status == 400
    assert "its owner does not show /srv/spec2017" in refused["message"]
    join("showing", policy=Policy(folders=("/srv",)))
    _, plan = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert [worker["name"] for worker in plan["workers"]] == ["showing"]


@pytest.mark.usefixtures("database")
def test_trials_in_guests_are_planned_for_workers_that_have_guests() -> None:
    ada = ApiUser("ada")
    text = TEXT.replace("[experiment]\n", '[experiment]\nisolation = "guest"\n')
    assert text != TEXT
    join("silent")
    join("bare", guest=GuestOffer(None, "there is no image of a guest", ()))
    aslr = FactorOffer("aslr", "process", ("on", "off"))
    join("able", guest=GuestOffer("tcg", "", (aslr,)), factors=())
    _, plan = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert [worker["name"] for worker in plan["workers"]] == ["able"]
    reasons = {item["name"]: item["reason"] for item in plan["ineligible"]}
    assert reasons["bare"] == "it has no guests: there is no image of a guest"
    assert reasons["silent"] == "it has no guests: its worker does not tell"


@pytest.mark.usefixtures("database")
def test_an_owner_who_allows_guests_only_gets_no_other_trials() -> None:
    ada = ApiUser("ada")
    join("careful", policy=Policy(guests_only=True), guest=GuestOffer("kvm", "", ()))
    status, refused = ada.post("/experiments/plan", make_submission(ada.user))
    assert status == 400
    assert "its owner allows packages in guests alone" in refused["message"]


@pytest.mark.usefixtures("database")
def test_owners_allow_packages_sizes_and_reboots() -> None:
    ada = ApiUser("ada")
    body = make_submission(ada.user, TEXT.replace('machine = "100%"', "machine = 1"), reboot="trial")
    allowed = tuple(item["sha256"] for item in body["packages"])
    join("all", policy=Policy(packages=allowed, reboot=True))
    join("other-package", policy=Policy(packages=(allowed[0],), reboot=True))
    join("small", policy=Policy(package_bytes=10, reboot=True))
    join("always-on", policy=Policy(reboot=False))
    _, plan = ada.post("/experiments/plan", body)
    assert [worker["name"] for worker in plan["workers"]] == ["all"]
    reasons = {item["name"]: item["reason"] for item in plan["ineligible"]}
    assert 'does not allow package "p2"' in reasons["other-package"]
    assert "larger than its owner allows" in reasons["small"]
    assert "does not allow reboots" in reasons["always-on"]


@pytest.mark.usefixtures("database")
def test_a_file_that_says_nothing_of_reboots_gets_the_strongest_that_the_machines_allow() -> None:
    ada = ApiUser("ada")
    text = TEXT.replace('machine = "100%"', "machine = 1").replace('reboot = "never"\n', "")
    body = make_submission(ada.user, text)
    join("fresh", policy=Policy())
    status, plan = ada.post("/experiments/plan", body)
    assert (status, plan["reboot"]) == (200, "never")
    assert "fresh: its owner allows no reboots" in " ".join(plan["warnings"])
    join("zealous", policy=Policy(reboot=True))
    _, plan = ada.post("/experiments/plan", body)
    assert (plan["reboot"], plan["workers"][0]["name"]) == ("trial", "zealous")


@pytest.mark.usefixtures("database")
def test_coverage_that_the_fleet_does_not_have_is_explained() -> None:
    ada = ApiUser("ada")
    join("intel", arch="x86_64")
    join("arm", arch="aarch64")
    text = TEXT.replace('machine = "100%"', 'arch = "100%"')
    _, plan = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert plan["coverage"]["arch"] == {"chosen": ["aarch64", "x86_64"], "of": ["aarch64", "x86_64"]}
    assert plan["workers"][0]["why"] == "arch aarch64 (it alone)"
    text = TEXT.replace('machine = "100%"', "arch = 3")
    status, refused = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert status == 400
    assert "the coverage 3 of arch cannot be reached" in refused["message"]
    assert refused["where"].startswith("experiment.toml")
