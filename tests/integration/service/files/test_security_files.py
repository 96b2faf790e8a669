"""Files of others: neither a digest nor a report nor an experiment that names one makes it readable."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from integration.service.api_users import TEXT, ApiUser, describe_file, make_package, make_submission, store
from integration.service.files.test_files_store import CONTENT, SHA256, Store, database_file
from integration.service.files.test_files_store import store as file_store
from integration.service.fleets import (
    bring,
    digest,
    find_attempt,
    join,
    list_leases,
    say,
    submit,
    tell_record,
)

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import ArtifactFile
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.messages.orders import list_lease_files
from datamill.service.files.disk import name_stored_file
from datamill.service.files.rights import FileUser, may_read, may_user_read
from datamill.service.front_door.visitors import guesses
from datamill.service.models import Artifact, FileHolder
from datamill.service.pages.new_experiment.stored_packages import store_upload

__all__ = ["database_file", "file_store"]


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
    return tmp_path / "data"


def test_a_digest_alone_opens_no_file(file_store: Store) -> None:
    file_store.ask("ada", "PUT", content=CONTENT)
    for who in ("bob", "worker"):
        assert file_store.ask(who, "GET").status_code == 404
        # Nor does it tell that there is one.
        assert file_store.ask(who, "HEAD").status_code == 404
    wrong = file_store.ask("bob", "PUT", content=b"?" * len(CONTENT))
    assert wrong.status_code == 422
    assert file_store.ask("bob", "GET").status_code == 404
    assert name_stored_file(SHA256).read_bytes() == CONTENT


def test_keys_that_nobody_has_are_counted_and_good_ones_served_meanwhile(file_store: Store) -> None:
    guesses.SECRETS.clear()
    try:
        told = [file_store.ask("nobody", "GET").status_code for _ in range(guesses.MOST_UNKNOWN + 1)]
        assert told == [401] * guesses.MOST_UNKNOWN + [429]
        refused = file_store.ask("nobody", "PUT", content=CONTENT)
        assert 0 < int(refused.headers["retry-after"]) <= guesses.FORGET_S + 1
        assert file_store.ask("ada", "PUT", content=CONTENT).status_code == 201
        # Who sends no key guesses none.
        assert file_store.ask("", "GET").status_code == 401
    finally:
        guesses.SECRETS.clear()


def test_who_brings_all_of_a_file_holds_it_as_well(file_store: Store) -> None:
    file_store.ask("ada", "PUT", content=CONTENT)
    assert file_store.ask("bob", "PUT", content=CONTENT).status_code == 201
    assert file_store.ask("bob", "GET").content == CONTENT
    assert FileHolder.objects.filter(file_id=SHA256).count() == 2
    assert file_store.parts() == []


def test_nobody_fills_the_disk(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MOST_WORKER_BYTES", 4_000_000, raising=False)
    first, second = b"1" * 3_000_000, b"2" * 3_000_000
    put = [
        file_store.ask("worker", "PUT", hashlib.sha256(body).hexdigest(), body) for body in (first, second)
    ]
    assert [answer.status_code for answer in put] == [201, 413]
    assert "at most" in put[1].json()["message"]
    monkeypatch.setattr(settings, "MOST_WORKER_BYTES", 1 << 40, raising=False)
    # What is begun and never ended counts as well.
    part = file_store.ask("worker", "PUT", "a" * 64, b"x" * 1000, Content_Range="bytes 0-999/5000")
    assert part.status_code == 202
    monkeypatch.setattr(settings, "MOST_WORKER_BYTES", 3_000_000 + 1000 + 10, raising=False)
    assert file_store.ask("worker", "PUT", "b" * 64, b"x" * 11).status_code == 413
    assert file_store.ask("ada", "PUT", content=CONTENT).status_code == 201


def test_nobody_fills_the_disk_with_files_of_one_byte(
    file_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "MOST_WORKER_FILES", 3, raising=False)
    monkeypatch.setattr(settings, "MOST_PARTS", 2, raising=False)

    def put(number: int, total: int = 1) -> int:
        body = bytes([number])
        piece = {"Content_Range": f"bytes 0-0/{total}"} if total > 1 else {}
        answer = file_store.ask("worker", "PUT", hashlib.sha256(body).hexdigest(), body, **piece)
        return int(answer.status_code)

    assert [put(number, 2) for number in range(4)] == [202, 202, 403, 403]
    # One that is begun may be ended.
    assert put(0) == put(1) == put(2) == 201
    assert put(3) == 413
    assert file_store.ask("ada", "PUT", content=CONTENT).status_code == 201


@pytest.mark.usefixtures("memory_database", "data_folder")
@pytest.mark.parametrize("bound", ["MOST_USER_FILES", "MOST_USER_BYTES"])
def test_a_browser_brings_no_more_than_a_key(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ApiUser("ada")
    store(make_package("# the first\n"), ada.user, "p1")
    monkeypatch.setattr(settings, bound, 1, raising=False)
    upload = SimpleUploadedFile("p2.tar.gz", make_package("# the second\n"))
    with pytest.raises(InputError, match="no more are kept"):
        store_upload(ada.user, upload)
    assert FileHolder.objects.count() == 1


def test_a_disk_that_is_nearly_full_takes_no_more(file_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    full = type("Usage", (), {"total": 100 << 30, "free": 1 << 30})
    monkeypatch.setattr("datamill.service.files.transfer.shutil.disk_usage", lambda _: full)
    told = file_store.ask("ada", "PUT", content=CONTENT)
    assert (told.status_code, "full" in told.json()["message"]) == (507, True)


@pytest.mark.usefixtures("memory_database", "data_folder")
def test_an_experiment_that_names_anothers_file_does_not_get_it() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    join("one")
    secret = make_package("# a secret of ada's\n")
    private = store(secret, ada.user, "p1")
    own = store(make_package("# bob's\n"), bob.user, "p2")
    body = {
        "text": TEXT,
        # The name of the file is part of what is stored with the experiment.
        "file_name": private,
        "packages": [describe_file("p1", private), describe_file("p2", own)],
        "options": {},
    }
    status, plan = bob.post("/experiments/plan", body)
    assert (status, plan["missing_files"]) == (200, [private])
    assert bob.post("/experiments", body)[0] == 409
    # Nor does one of his own that has the digits of the digest in a name.
    named = make_submission(bob.user) | {"file_name": private}
    assert bob.post("/experiments", named)[0] == 200
    assert not may_user_read(bob.user, private)
    assert may_user_read(ada.user, private)
    # Whoever knows the content may bring it.
    store(secret, bob.user, "p1")
    assert bob.post("/experiments", body)[0] == 200


@pytest.mark.usefixtures("memory_database", "data_folder")
def test_packages_of_public_experiments_are_public_and_no_others() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    join("one")
    unused = store(make_package("# unused\n"), ada.user)
    body = make_submission(ada.user, public=True)
    assert ada.post("/experiments", body)[0] == 200
    assert all(may_user_read(bob.user, item["sha256"]) for item in body["packages"])
    assert not may_user_read(bob.user, unused)


@pytest.mark.usefixtures("memory_database")
def test_a_worker_reads_the_files_of_its_open_attempt_alone() -> None:
    worker_id = join().worker_id
    asking = FileUser(worker_id, worker_id=worker_id)
    number = submit([worker_id], trials=1)
    assert list_lease_files(worker_id) == frozenset()
    lease_trials(1_700_000_000.0)
    (lease,) = list_leases().values()
    needed = {item.sha256 for item in lease.files}
    assert list_lease_files(worker_id) == needed
    # Of the other package of the same experiment it needs nothing now.
    assert len(needed.intersection({digest("xz"), digest("bzip2")})) == 1
    assert {sha256 for sha256 in (digest("xz"), digest("bzip2")) if may_read(asking, sha256)} == needed
    say(worker_id, tell_record(lease))
    assert not any(may_read(asking, sha256) for sha256 in needed)
    assert number


@pytest.mark.usefixtures("database")
def test_a_report_makes_no_artifact_of_what_its_worker_did_not_bring() -> None:
    spy, victim = join(owner="bob").worker_id, join().worker_id
    submit([spy], trials=1, owner="bob")
    lease_trials(1_700_000_000.0)
    lease = list_leases()[spy]
    bring(victim, digest("output of another's trial"), 3)
    stolen = ArtifactFile("run.stdout", digest("output of another's trial"), 3)
    say(spy, tell_record(lease, artifacts=(stolen,)))
    assert find_attempt(lease.attempt).state == "faulty"
    assert not Artifact.objects.exists()


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    "name",
    ["a/b", "..", ".", "", "/etc/cron.d/x", "..\\x", "a\nb", "a\x1b[2Jb", "\u202etxt", "é" * 101, "a\x00"],
    ids=ascii,
)
def test_artifacts_have_names_that_a_file_of_one_folder_can_have(name: str) -> None:
    worker_id = join().worker_id
    submit([worker_id], trials=1)
    lease_trials(1_700_000_000.0)
    (lease,) = list_leases().values()
    bring(worker_id, digest("out"), 3)
    say(worker_id, tell_record(lease, artifacts=(ArtifactFile(name, digest("out"), 3),)))
    assert find_attempt(lease.attempt).state == "faulty"
    assert not Artifact.objects.exists()
