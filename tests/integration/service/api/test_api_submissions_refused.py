"""What the API refuses of a submission: archives, files and texts that cannot be meant, by name."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.conf import settings
from integration.service.api_users import (
    SCRIPT,
    TEXT,
    ApiUser,
    describe_file,
    make_package,
    make_submission,
    pack,
    store,
)
from integration.service.fleets import (
    START_S,
    join,
)

from datamill.service.administration import quotas as usual
from datamill.service.models import FleetExperiment, Quarantine, Trial
from datamill.service.submissions import quotas

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_a_user_has_no_more_trials_waiting_than_the_database_can_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada, bea = ApiUser("ada"), ApiUser("bea")
    join("one")
    monkeypatch.setattr(usual, "MOST_OPEN_TRIALS", 10)
    answers = [ada.post("/experiments", make_submission(ada.user)) for _ in range(3)]
    assert [status for status, _ in answers] == [200, 200, 400]
    assert "8 of your trials have not ended" in answers[-1][1]["message"]
    assert bea.post("/experiments", make_submission(bea.user))[0] == 200
    monkeypatch.setattr(quotas, "_TRIAL_BYTES", 1 << 60)
    status, refused = bea.post("/experiments", make_submission(bea.user))
    assert (status, "has no room" in refused["message"]) == (400, True)
    assert Trial.objects.count() == 12


@pytest.mark.usefixtures("database")
def test_files_that_are_not_there_are_named_and_nothing_is_submitted() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user)
    absent = "0" * 64
    body["packages"][1]["sha256"] = absent
    _, plan = ada.post("/experiments/plan", body)
    assert plan["missing_files"] == [absent]
    status, refused = ada.post("/experiments", body)
    assert (status, refused["missing_files"]) == (409, [absent])
    assert not FleetExperiment.objects.exists()


def submit_changed(user: ApiUser, change: Any) -> tuple[int, dict[str, Any]]:
    body = make_submission(user.user)
    change(body)
    return user.post("/experiments", body)


def replace_package(content: bytes, user: ApiUser) -> Any:
    def change(body: dict[str, Any]) -> None:
        body["packages"][0] = describe_file("p1", store(content, user.user), len(content))

    return change


@pytest.mark.usefixtures("database")
def test_packages_that_cannot_run_or_reach_outside_are_refused_by_name() -> None:
    ada = ApiUser("ada")
    join("one")
    scripts = {"run.sh": SCRIPT, "collect.sh": SCRIPT}
    for content, message in (
        (b"not an archive", "not a readable .tar.gz"),
        (pack({"collect.sh": SCRIPT}), "has no run.sh"),
        (pack(scripts, mode=0o644), "is not executable"),
        (pack({**scripts, "../../etc/passwd": b"x"}), "a path with .."),
        (pack({**scripts, "/etc/passwd": b"x"}), "an absolute path"),
    ):
        status, refused = submit_changed(ada, replace_package(content, ada))
        assert status == 400
        assert message in refused["message"]
        # Where it lies in the store is nobody's business.
        assert refused["where"] == 'experiment.toml: package "p1"'
        assert str(settings.DATA_FOLDER) not in str(refused)
    assert not FleetExperiment.objects.exists()


@pytest.mark.usefixtures("database")
def test_an_archive_bomb_is_refused_by_its_size_unpacked() -> None:
    ada = ApiUser("ada")
    join("one")
    bomb = pack({"run.sh": SCRIPT, "collect.sh": SCRIPT, "zeros": bytes(30 << 20)})
    assert len(bomb) < 100_000
    body = make_submission(ada.user, TEXT + '\n[limits]\npackage = "20 MiB"\n')
    replace_package(bomb, ada)(body)
    status, refused = ada.post("/experiments", body)
    assert status == 400
    assert "larger than allowed (20.0 MiB" in refused["message"]


@pytest.mark.usefixtures("database")
def test_a_package_of_5_gb_is_refused_before_it_is_sent() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user)
    body["packages"][0] |= {"sha256": "5" * 64, "bytes": 5 * 10**9}
    status, refused = ada.post("/experiments/plan", body)
    assert status == 400
    assert 'package "p1" has 4.7 GiB, and at most 4.0 GiB are taken' in refused["message"]


@pytest.mark.usefixtures("database")
def test_files_that_are_not_those_of_the_experiment_are_refused() -> None:
    ada = ApiUser("ada")
    join("one")

    def rename(body: dict[str, Any]) -> None:
        body["packages"][0]["name"] = "p3"

    def add_factor(body: dict[str, Any]) -> None:
        body["packages"].append(describe_file("f", "1" * 64, kind="factor"))

    for change, message in ((rename, "the packages p1, p2"), (add_factor, "brings 0 factors")):
        status, refused = submit_changed(ada, change)
        assert (status, message in refused["message"]) == (400, True)


@pytest.mark.usefixtures("database")
def test_a_text_that_is_no_experiment_is_refused_with_its_line() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user, TEXT.replace("replicates = 2", 'replicates = "two"'))
    status, refused = ada.post("/experiments/plan", body)
    assert status == 400
    assert refused["where"].startswith("experiment.toml:5")


@pytest.mark.usefixtures("database")
def test_a_package_in_quarantine_is_refused_until_an_administrator_lifts_it() -> None:
    ada, root = ApiUser("ada"), ApiUser("root", admin=True)
    join("one")
    body = make_submission(ada.user)
    digest = body["packages"][0]["sha256"]
    Quarantine.objects.create(sha256=digest, reason="three workers went down", since_unix_s=START_S)
    status, refused = ada.post("/experiments", body)
    assert status == 400
    assert 'package "p1" is in quarantine: three workers went down' in refused["message"]
    assert [item["name"] for item in ada.get("/quarantine")[1]] == ["p1"]
    assert ada.post(f"/quarantine/{digest}/lift")[0] == 403
    assert root.post(f"/quarantine/{digest}/lift")[0] == 204
    assert root.post(f"/quarantine/{digest}/lift")[0] == 404
    assert ada.post("/experiments", body)[0] == 200


@pytest.mark.usefixtures("database")
def test_a_design_that_cannot_be_meant_is_refused_before_it_is_made() -> None:
    ada = ApiUser("ada")
    join("one")
    text = TEXT.replace("replicates = 2", "replicates = 1000000")
    body = make_submission(ada.user, text + '\n[factors]\naslr = ["on", "off"]\n')
    status, refused = ada.post("/experiments/plan", body)
    assert status == 400
    assert "the design has 4\u202f000\u202f000 trials" in refused["message"]


@pytest.mark.usefixtures("database")
def test_upload_digests_are_lower_case_hexadecimal() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user)
    body["packages"][0]["sha256"] = hashlib.sha256(make_package()).hexdigest().upper()
    status, refused = ada.post("/experiments/plan", body)
    assert (status, refused["where"]) == (422, "packages.0.sha256")
