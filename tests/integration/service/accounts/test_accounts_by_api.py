"""What pages of accounts do, programs do too: notices, quotas, retention, backups, users."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from integration.service.api_users import ApiUser, make_package, make_submission, store
from integration.service.fleets import join

from datamill.service.models import Event, NoticeTarget
from datamill.service.notices.ways import NoticeWays, set_notice_ways

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


def test_addresses_for_notices_are_entered_tried_and_removed() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    set_notice_ways(NoticeWays(url="http://mill", inner_hosts=frozenset({"localhost"})))
    try:
        asked = {"kind": "webhook", "address": "http://localhost:9/hook", "subjects": ["ended"]}
        status, made = ada.post("/notices", asked)
        assert (status, made["target"]["subjects"]) == (200, ["ended"])
        assert made["secret"].startswith("whsec_")
        number = made["target"]["id"]
        assert bob.post(f"/notices/{number}/try")[0] == 404
        assert ada.post(f"/notices/{number}/try")[0] == 200
        assert ada.post(f"/notices/{number}/try")[0] == 400, "one is under way"
        NoticeTarget.objects.update(paused_unix_s=1.0, failures=9)
        assert ada.post(f"/notices/{number}/resume")[1]["paused_unix_s"] is None
        assert ada.post("/notices", {"kind": "mail", "address": "ada@example.org"})[0] == 400, "no mail here"
        assert ada.post("/notices", {"kind": "webhook", "address": "https://127.0.0.1/"})[0] == 400
        assert ada.post("/notices", {"kind": "pigeon"})[0] == 422
        feed = ada.post("/notices", {"kind": "feed"})[1]["feed"]
        assert Client().get(feed.removeprefix("http://testserver")).status_code == 200
        assert ada.post(f"/notices/{number}/confirm", {"code": "0"})[0] == 404
        left = ada.post(f"/notices/{number}/remove")[1]
        assert [item["kind"] for item in left] == ["feed"]
        assert bob.get("/notices")[1] == []
        assert ada.get("/notices")[1] == left
    finally:
        set_notice_ways(NoticeWays())


def test_a_quota_is_given_told_to_its_user_and_kept() -> None:
    root, ada = ApiUser("root", admin=True), ApiUser("ada")
    join("one")
    assert ada.post("/users/ada/quota", {"open_trials": 3})[0] == 403
    status, given = root.post("/users/ada/quota", {"open_trials": 3})
    assert (status, given["own_trials"], given["own_bytes"]) == (200, 3, None)
    assert ada.get("/me/room")[1]["most_trials"] == 3
    assert "beyond 3" in ada.post("/experiments", make_submission(ada.user))[1]["message"]
    assert root.post("/users/ada/quota", {})[1]["own_trials"] is None
    assert ada.post("/experiments", make_submission(ada.user))[0] == 200
    assert root.post("/users/nobody/quota", {})[0] == 404
    assert root.post("/users/ada/quota", {"open_trials": -1})[0] == 422


def test_accounts_are_made_closed_opened_and_listed_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    root = ApiUser("root", admin=True)
    status, made = root.post("/users", {"name": "carol"})
    assert (status, User.objects.get(username="carol").check_password(made["password"])) == (200, True)
    assert root.post("/users", {"name": "carol"})[0] == 400
    assert root.post("/users/root/close")[0] == 400
    assert root.post("/users/carol/close")[1]["active"] is False
    assert root.post("/users/carol/open")[1]["active"] is True
    monkeypatch.setattr("datamill.service.api.members.users._MOST_ROWS", 1)
    first = root.get("/users")[1]
    second = root.get("/users", after=first["next"])[1]
    assert [page["users"][0]["user"] for page in (first, second)] == ["carol", "root"]
    assert second["next"] is None


def test_how_long_files_are_kept_is_asked_and_said() -> None:
    root = ApiUser("root", admin=True)
    assert root.post("/retention", {"uploads_days": 30})[1]["uploads_days"] == 30
    found = root.get("/retention")[1]
    assert (found["uploads_days"], found["artifacts_days"], found["uploads"]["files"]) == (30, None, 0)
    assert root.post("/retention", {"uploads_days": 0})[0] == 422
    assert Event.objects.filter(kind="retention set").count() == 1


def test_room_is_measured_and_a_backup_that_cannot_be_made_says_why() -> None:
    root = ApiUser("root", admin=True)
    store(make_package(), root.user)
    assert root.get("/storage")[1]["database"] == "SQLite"
    status, refused = root.post("/backups")
    assert (status, "pg_dump" in refused["remedy"]) == (400, True), "a database in memory is no file"
    assert root.get("/backups")[1] == []
