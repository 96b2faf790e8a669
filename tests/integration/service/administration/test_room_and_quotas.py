"""Administrators see what takes room, give quotas, say how long files are kept, and copy the database."""

from __future__ import annotations

import html
import sqlite3
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from integration.service.api_users import ApiUser, make_package, make_submission, store
from integration.service.fleets import bring, digest, join, make_record, say, tell_record
from integration.service.small_fleet import Fleet

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import ArtifactFile
from datamill.service.__main__ import main
from datamill.service.administration.backups import copy_database
from datamill.service.administration.retention import remove_retired, retire_old_files, set_retention
from datamill.service.coordinator.experiments.experiments import cancel_experiment
from datamill.service.coordinator.experiments.submission import NewExperiment
from datamill.service.files.disk import name_stored_file
from datamill.service.files.store import remove_files
from datamill.service.models import Event, FleetExperiment, StoredFile
from datamill.service.pages.new_experiment.stored_packages import list_stored, store_upload
from datamill.service.submissions import submitting

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")

DAY_S = 86_400.0


def log_in(user: ApiUser) -> Client:
    client = Client()
    client.force_login(user.user)
    return client


def test_the_page_says_whose_files_and_trials_take_the_room() -> None:
    fleet = Fleet()
    page = html.unescape(log_in(ApiUser("root", admin=True)).get("/administration").content.decode())
    assert "1 experiment with 8 trials" in page
    assert "Files of ada, a size" in page
    assert "2 files; at most 256.0 GiB" in page
    assert log_in(fleet.ada).get("/administration").status_code == 403


def test_a_quota_bounds_what_a_user_brings_and_what_waits() -> None:
    root, ada, bob = ApiUser("root", admin=True), ApiUser("ada"), ApiUser("bob")
    join("fast")
    client = log_in(root)
    sent = {"name": "ada", "stored": "100 B", "trials": "3"}
    assert client.post("/administration/quota", sent).status_code == 302
    upload = SimpleUploadedFile("p.tar.gz", make_package("# first\n"))
    with pytest.raises(InputError, match="no more are kept"):
        store_upload(ada.user, upload)
    status, told = ada.post("/experiments", make_submission(ada.user))
    assert (status, "beyond 3" in told["message"]) == (400, True)
    assert bob.post("/experiments", make_submission(bob.user))[0] == 200
    assert client.post("/administration/quota", {"name": "ada"}).status_code == 302
    assert ada.post("/experiments", make_submission(ada.user))[0] == 200
    assert Event.objects.filter(kind="quota set").count() == 2


@pytest.mark.parametrize(
    "sent", [{"stored": "much"}, {"stored": "-1"}, {"trials": "1.5"}, {"trials": "9" * 30}, {"trials": "-1"}]
)
def test_what_is_no_quota_is_refused(sent: dict[str, str]) -> None:
    client = log_in(ApiUser("root", admin=True))
    assert client.post("/administration/quota", sent | {"name": "root"}).status_code == 400


def test_uploads_that_no_experiment_has_go_after_their_time_and_may_come_again() -> None:
    fleet, root = Fleet(), ApiUser("root", admin=True)
    unused = store(make_package("# unused\n"), fleet.ada.user, "unused")
    latest_s = max(StoredFile.objects.values_list("stored_unix_s", flat=True))
    assert retire_old_files(latest_s + 1000 * DAY_S) == []
    set_retention(root.user, 30, None)
    assert retire_old_files(latest_s + 29 * DAY_S) == []
    assert retire_old_files(latest_s + 31 * DAY_S) == [unused]
    assert remove_retired([unused]) == []
    assert not name_stored_file(unused).is_file()
    assert "unused" not in {file.name for file in list_stored(fleet.ada.user)}
    # The packages of the experiment stay, whenever they came.
    assert {file.name for file in list_stored(fleet.ada.user)} == {"p1", "p2"}
    store(make_package("# unused\n"), fleet.ada.user, "unused")
    assert "unused" in {file.name for file in list_stored(fleet.ada.user)}


def test_what_was_brought_again_meanwhile_is_not_removed() -> None:
    fleet, root = Fleet(), ApiUser("root", admin=True)
    unused = store(make_package("# unused\n"), fleet.ada.user, "unused")
    set_retention(root.user, 30, None)
    latest_s = max(StoredFile.objects.values_list("stored_unix_s", flat=True))
    retired = retire_old_files(latest_s + 31 * DAY_S)
    store(make_package("# unused\n"), fleet.ada.user, "unused")
    assert (retired, remove_retired(retired)) == ([unused], [])
    assert name_stored_file(unused).is_file()


def test_files_of_attempts_go_after_private_experiments_alone() -> None:
    fleet, root = Fleet(), ApiUser("root", admin=True)
    (worker_id, lease), *_ = fleet.lease().items()
    bring(worker_id, digest("out"), 3)
    artifact = ArtifactFile("run.stdout", digest("out"), 3)
    say(worker_id, tell_record(lease, make_record(lease), artifacts=(artifact,)), fleet.now_s)
    set_retention(root.user, None, 10)
    later_s = fleet.now_s + 100 * DAY_S
    assert retire_old_files(later_s) == [], "the experiment goes on"
    cancel_experiment(fleet.number, fleet.ada.user, fleet.now_s)
    FleetExperiment.objects.update(public=True)
    assert retire_old_files(later_s) == [], "it is public"
    FleetExperiment.objects.update(public=False)
    assert retire_old_files(fleet.now_s + 9 * DAY_S) == [], "its time has not come"
    assert len(retire_old_files(later_s)) == 1
    # Its record and its bundle are there as before.
    assert len(fleet.read()) > 1000


def test_an_experiment_whose_file_is_removed_while_it_is_submitted_is_refused_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada = ApiUser("ada")
    join("fast")
    body = make_submission(ada.user)
    enter = submitting._enter

    def lose(new: NewExperiment, now_s: float) -> int:
        # As retention does.
        StoredFile.objects.filter(pk=body["packages"][0]["sha256"]).update(removed_unix_s=now_s)
        remove_files([body["packages"][0]["sha256"]])
        return enter(new, now_s)

    monkeypatch.setattr(submitting, "_enter", lose)
    status, told = ada.post("/experiments", body)
    assert (status, "was removed meanwhile" in told["message"]) == (400, True)
    assert not FleetExperiment.objects.exists()


def test_a_database_is_copied_while_somebody_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "coordinator"
    data.mkdir()
    live = sqlite3.connect(data / "coordinator.sqlite3", isolation_level=None)
    live.execute("PRAGMA journal_mode=WAL")
    live.execute("CREATE TABLE told (word TEXT)")
    live.execute("INSERT INTO told VALUES ('kept')")
    live.execute("BEGIN IMMEDIATE")
    live.execute("INSERT INTO told VALUES ('under way')")
    target = tmp_path / "copy.sqlite3"
    assert main(["--data", str(data), "--backup", str(target)]) == 0
    assert "now copy files/" in capsys.readouterr().out
    live.execute("COMMIT")
    assert sqlite3.connect(target).execute("SELECT word FROM told").fetchall() == [("kept",)]
    assert target.stat().st_mode & 0o077 == 0
    assert main(["--data", str(data), "--backup", str(target)]) == 2
    assert main(["--data", str(tmp_path / "none"), "--backup", str(tmp_path / "other")]) == 2
    copy_database(target, tmp_path / "again.sqlite3")


def test_a_page_says_why_it_cannot_copy_a_database_in_memory() -> None:
    client = log_in(ApiUser("root", admin=True))
    answer = client.post("/administration/backup")
    assert (answer.status_code, b"pg_dump" in answer.content) == (400, True)
    assert not (Path(settings.DATA_FOLDER) / "backups").exists()
