"""A request with an `Idempotency-Key` is done once: after a broken connection, a restart, and two at once."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from integration.service.api_users import ApiUser, make_submission
from integration.service.databases import MEMORY_URL, use_database
from integration.service.fleets import join
from integration.service.small_fleet import Fleet

from datamill.service.coordinator.state.events import EventKind
from datamill.service.files.disk import name_stored_file
from datamill.service.keyed_requests import claims
from datamill.service.keyed_requests.claims import (
    KEPT_S,
    KeyInUseError,
    ReusedKeyError,
    claiming,
    remove_old_keys,
)
from datamill.service.models import Event, FleetExperiment, KeyedRequest, Publication, Rerun

pytestmark = pytest.mark.usefixtures("data_folder")
KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"


def ask(user: ApiUser, path: str, body: Any, key: str = KEY) -> Any:
    return user.ask(path, body, **{"Idempotency-Key": key})


@pytest.mark.usefixtures("database")
def test_a_submission_that_is_sent_again_with_its_key_gets_the_first_answer() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    join("one")
    body = make_submission(ada.user, public=True)
    first = ask(ada, "/experiments", body)
    # A coordinator that was started anew knows nothing but its database.
    claims._under_way.clear()
    for spelt in (KEY, f'"{KEY}"'):
        second = ask(ada, "/experiments", body, spelt)
        assert (
            (second.status_code, second.content) == (first.status_code, first.content) == (200, first.content)
        )
        assert second["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    for path, other in (("/experiments", body | {"file_name": "other.toml"}), ("/experiments/1/rerun", {})):
        refused = ask(ada, path, other)
        assert (refused.status_code, refused.json()["where"]) == (422, "Idempotency-Key"), refused.content
    assert FleetExperiment.objects.count() == 1
    # The same key of another user, or a request without a key, is another request.
    assert ask(bob, "/experiments", make_submission(bob.user)).json()["id"] == 2
    assert ada.post("/experiments", body)[1]["id"] == 3
    assert ask(ada, "/experiments", body, "é").status_code == 422
    assert ask(ada, "/experiments", body, "k" * 256).status_code == 422


@pytest.mark.usefixtures("memory_database")
def test_what_was_refused_frees_its_key() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user)
    path = name_stored_file(body["packages"][0]["sha256"])
    content = path.read_bytes()
    path.unlink()
    assert [ask(ada, "/experiments", body).status_code for _ in range(2)] == [409, 409]
    path.write_bytes(content)
    assert ask(ada, "/experiments", body).status_code == 200
    assert ask(ada, "/experiments", body).status_code == 200
    assert FleetExperiment.objects.count() == 1


@pytest.mark.usefixtures("memory_database")
def test_publishing_withdrawing_and_running_again_are_done_once() -> None:
    fleet = Fleet()
    fleet.finish()
    said = {"title": "Which is faster?", "authors": ["Doe, Jane"], "licence": "MIT"}
    published = [ask(fleet.ada, f"/experiments/{fleet.number}/publish", said, "p") for _ in range(2)]
    key = published[0].json()["key"]
    rerun = [ask(fleet.ada, f"/experiments/{fleet.number}/rerun", {"margin": 0.1}, "r") for _ in range(2)]
    withdrawal = f"/publications/{key}/withdraw"
    withdrawn = [ask(fleet.ada, withdrawal, {"reason": "The clock was wrong."}, "w") for _ in range(2)]
    for first, second in (published, rerun, withdrawn):
        assert (second.status_code, second.content) == (200, first.content), (first.content, second.content)
    assert (Publication.objects.count(), Rerun.objects.count(), FleetExperiment.objects.count()) == (1, 1, 2)
    assert Event.objects.filter(kind=EventKind.RUN_AGAIN).count() == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_of_requests_that_arrive_at_once_one_is_done(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_file = kind == "sqlite"
    use_database(
        f"sqlite:///{tmp_path / 'once.sqlite3'}" if is_file else request.getfixturevalue("postgres_url")
    )
    try:
        ada = ApiUser("ada")
        join("one")
        body = make_submission(ada.user)
        gate, answers = threading.Barrier(4), []

        def send() -> None:
            try:
                gate.wait()
                answers.append(ask(ada, "/experiments", body))
            finally:
                connection.close()

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
        assert sum("Idempotent-Replayed" in answer for answer in answers) == 3
        assert FleetExperiment.objects.count() == 1
    finally:
        use_database(MEMORY_URL)


@pytest.mark.usefixtures("database")
def test_a_request_that_died_with_its_coordinator_is_taken_over_and_can_end_no_more() -> None:
    user = ApiUser("ada").user
    with claiming(user, KEY, "a" * 64, wait_s=0.0) as dead:
        with pytest.raises(KeyInUseError), claiming(user, KEY, "a" * 64, wait_s=0.0):
            pass
        with pytest.raises(ReusedKeyError), claiming(user, KEY, "b" * 64, wait_s=0.0):
            pass
        claims._under_way.clear()
        with claiming(user, KEY, "a" * 64, wait_s=0.0) as alive:
            with pytest.raises(KeyInUseError):
                dead.keep(b"two")
            alive.keep(b"one", 201)
    with claiming(user, KEY, "a" * 64, wait_s=0.0) as again:
        assert (again.answer.status, again.answer.body) == (201, b"one")
    # After a day the key is nobody's.
    KeyedRequest.objects.update(made_unix_s=KeyedRequest.objects.get().made_unix_s - KEPT_S - 1)
    with claiming(user, KEY, "b" * 64, wait_s=0.0) as new:
        assert new.answer is None
        new.keep(b"new")
    made_s = KeyedRequest.objects.get().made_unix_s
    assert [remove_old_keys(made_s + KEPT_S + late) for late in (-1.0, 1.0)] == [0, 1]


@pytest.mark.usefixtures("memory_database")
def test_a_form_that_is_clicked_twice_runs_an_experiment_again_once() -> None:
    fleet = Fleet()
    fleet.finish()
    client = Client()
    client.force_login(fleet.ada.user)
    address = f"/experiments/{fleet.number}/rerun"
    shown = [client.get(address, follow=True).content.decode() for _ in range(2)]
    forms = [re.findall(r'name="form" value="(.+?)"', page) for page in shown]
    first, second, anew = (
        client.post(address, {"margin": "0.05", "form": form}) for (form,) in (forms[0], forms[0], forms[1])
    )
    assert (first.status_code, second.status_code) == (302, 302), second.content
    assert first["Location"] == second["Location"] != anew["Location"]
    assert Rerun.objects.count() == 2
