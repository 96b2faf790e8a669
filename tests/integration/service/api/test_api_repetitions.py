"""The same experiment submitted twice; debug trials, which do not belong to the design."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from integration.service.api_users import (
    TEXT,
    ApiUser,
    describe_file,
    make_package,
    make_submission,
    store,
)
from integration.service.fleets import (
    join,
    run_to_the_end,
)

from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.models import Trial

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_debug_trials_are_done_and_never_called_counted() -> None:
    ada, root = ApiUser("ada"), ApiUser("root", admin=True)
    join("one")
    number = ada.post("/experiments", make_submission(ada.user, debug="first"))[1]["id"]
    run_to_the_end()
    _, page = ada.get(f"/experiments/{number}/trials")
    assert {(trial["purpose"], trial["state"]) for trial in page["trials"]} == {
        ("debug", "done"),
        ("design", "counted"),
    }

    def list_purposes(state: str) -> list[str]:
        return [
            trial["purpose"] for trial in ada.get(f"/experiments/{number}/trials", state=state)[1]["trials"]
        ]

    assert list_purposes("counted") == ["design"] * 4
    assert list_purposes("done") == ["debug"] * 2
    _, experiment = ada.get(f"/experiments/{number}")
    assert (experiment["trials"], experiment["debug_trials"]) == ({"counted": 4}, {"done": 2})
    told = {kind: root.get("/events", kind=kind)[1]["events"] for kind in ("attempt counted", "attempt done")}
    assert (len(told["attempt counted"]), len(told["attempt done"])) == (4, 2)
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_pages_do_not_say_of_a_debug_attempt_that_it_counted() -> None:
    ada = ApiUser("ada")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user, debug="only"))[1]["id"]
    run_to_the_end()
    browser = Client()
    browser.force_login(ada.user)
    trial = Trial.objects.filter(experiment=number).earliest("pk").trial_id
    for path in (f"/experiments/{number}/trials/{trial}", "/workers/one", f"/experiments/{number}"):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        shown = answer.content.decode()
        assert ">done<" in shown, path
        assert not re.search(">(attempt )?counted<", shown), path
    assert ada.get("/workers/one")[1]["attempts"] == {"done": 2}


@pytest.mark.usefixtures("database")
def test_what_is_meant_once_is_not_entered_twice() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    join("fast")
    once = make_submission(ada.user, once=True)
    status, first = ada.post("/experiments", once)
    assert status == 200
    status, refused = ada.post("/experiments", once)
    assert status == 400
    assert f"it is experiment {first['id']}" in refused["message"]
    assert "--again" in refused["remedy"]
    # Another's, another file, other packages, and one that is not meant once are no repetition.
    assert bob.post("/experiments", make_submission(bob.user, once=True))[0] == 200
    assert ada.post("/experiments", once | {"text": f"{TEXT}\n# another"})[0] == 200
    assert ada.post("/experiments", make_submission(ada.user))[0] == 200
    content = make_package("# changed")
    other = describe_file("p1", store(content, ada.user, "p1"), len(content))
    assert ada.post("/experiments", once | {"packages": [other, once["packages"][1]]})[0] == 200
    for number in range(1, 10):
        ada.post(f"/experiments/{number}/cancel")
    assert ada.post("/experiments", once)[0] == 200, "what was cancelled may be submitted anew"


@pytest.mark.usefixtures("database")
def test_debug_trials_alone_do_not_keep_the_whole_experiment_out() -> None:
    ada = ApiUser("ada")
    join("fast")
    assert ada.post("/experiments", make_submission(ada.user, once=True, debug="only"))[0] == 200
    assert ada.post("/experiments", make_submission(ada.user, once=True, debug="only"))[0] == 400
    assert ada.post("/experiments", make_submission(ada.user, once=True))[0] == 200
