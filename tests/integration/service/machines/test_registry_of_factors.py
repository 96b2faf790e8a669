"""The registry of factors: brought once for everybody, forbidden by administrators and by owners."""

from __future__ import annotations

import pytest
from django.test import Client
from integration.service.api_users import ApiUser, make_submission, pack, store
from integration.service.fleets import START_S, hello, join, say

from datamill.experiment.errors import InputError
from datamill.experiment.factors.catalogue import FACTORS
from datamill.protocol.fleet import Policy
from datamill.protocol.offers import FactorOffer
from datamill.service.models import Event, FleetWorker

VERB = b"#!/bin/sh\necho 1\n"

pytestmark = pytest.mark.usefixtures("data_folder")


def make_factor(name: str = "swappiness", scope: str = "host", extra: str = "") -> bytes:
    """An archive of a factor with all that one needs."""
    text = f'name = "{name}"\nsummary = "how eagerly the kernel swaps{extra}"\nscope = "{scope}"\n'
    verbs = dict.fromkeys(("levels", "set", "verify", "restore"), VERB)
    return pack({"factor.toml": text.encode(), **verbs})


def register(user: ApiUser, content: bytes) -> tuple[int, dict]:
    digest = store(content, user.user, "swappiness", "factor")
    return user.post("/factors", {"sha256": digest})


@pytest.mark.usefixtures("memory_database")
def test_a_factor_is_registered_once_and_everybody_may_use_its_archive() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    status, told = register(ada, make_factor())
    assert status == 200
    assert (told["name"], told["owner"], told["stage"]) == ("swappiness", "ada", "host")
    assert told["forbidden"] is None
    assert register(ada, make_factor())[1]["versions"] == told["versions"]
    assert Event.objects.filter(kind="factor registered").count() == 1
    # Whose archive it is, everybody may read: bob registers nothing new with it, and submits with it.
    status, again = bob.post("/factors", {"sha256": told["sha256"]})
    assert (status, again["owner"]) == (200, "ada")
    _, newer = register(ada, make_factor(extra=" pages"))
    assert newer["versions"] == [newer["sha256"], told["sha256"]]
    _, listed = bob.get("/factors")
    assert [item["name"] for item in listed] == [*FACTORS, "swappiness"]
    assert listed[-1]["sha256"] == newer["sha256"]


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (make_factor("aslr"), "a factor of datamill itself"),
        (make_factor(extra=" of another"), "was registered by ada"),
        (pack({"run.sh": VERB}), "has no factor.toml"),
    ],
)
def test_what_cannot_be_registered_is_refused(content: bytes, says: str) -> None:
    register(ApiUser("ada"), make_factor())
    status, refused = register(ApiUser("bob"), content)
    assert status == 400
    assert says in refused["message"]
    assert "/files/" not in str(refused)


@pytest.mark.usefixtures("memory_database")
def test_a_file_that_a_user_did_not_bring_is_not_registered() -> None:
    digest = store(make_factor(), ApiUser("ada").user, "swappiness", "factor")
    status, refused = ApiUser("bob").post("/factors", {"sha256": digest})
    assert status == 400
    assert "not here" in refused["message"]


@pytest.mark.usefixtures("memory_database")
def test_each_factor_is_listed_with_its_levels_by_machine() -> None:
    ada = ApiUser("ada")
    register(ada, make_factor())
    compilers = FactorOffer("compiler_version", "build", ("gcc-12", "clang-14"))
    aslr = FactorOffer("aslr", "process", ("on", "off"))
    join("one", owner="eve", factors=(compilers, aslr))
    two = FactorOffer("compiler_version", "build", ("gcc-12",))
    join("two", owner="eve", factors=(two,), policy=Policy(privileged=True))
    forbidding = Policy(forbidden_factors=("compiler_version", "swappiness"))
    join("three", owner="eve", factors=(compilers, aslr), policy=forbidding)
    _, listed = ada.get("/factors")
    levels = {item["name"]: item["levels"] for item in listed}
    assert levels["compiler_version"] == {"clang-14": 1, "gcc-12": 2}
    assert levels["aslr"] == {"on": 2, "off": 2}
    _, detail = ada.get("/factors/compiler_version")
    machines = {item["machine"]: (item["levels"], item["allowed_by_owner"]) for item in detail["machines"]}
    assert machines == {
        "one": (["gcc-12", "clang-14"], True),
        "two": (["gcc-12"], True),
        "three": (["gcc-12", "clang-14"], False),
    }
    _, detail = ada.get("/factors/swappiness")
    reasons = {item["machine"]: (item["reason"], item["allowed_by_owner"]) for item in detail["machines"]}
    assert reasons["two"] == ("its levels are asked for in its trials", True)
    assert reasons["three"] == ("its owner forbids it", False)
    assert "change the host" in reasons["one"][0]


@pytest.mark.usefixtures("memory_database")
def test_what_an_administrator_forbids_is_refused_in_what_is_submitted_and_no_machine_offers_it() -> None:
    ada, root = ApiUser("ada"), ApiUser("root", admin=True)
    join("one", owner="eve")
    body = make_submission(ada.user)
    body["text"] += '[factors]\naslr = ["on", "off"]\n'
    assert ada.post("/experiments/plan", body)[0] == 200
    assert ada.post("/factors/aslr/forbid", {"reason": "no"})[0] == 403
    status, told = root.post("/factors/aslr/forbid", {"reason": "It hides bugs."})
    assert (status, told["forbidden"]) == (200, "It hides bugs.")
    status, refused = ada.post("/experiments/plan", body)
    assert status == 400
    assert 'the factor "aslr" is forbidden on this fleet: It hides bugs' in refused["message"]
    # What only a policy of [nuisance] names is left as it is, with a warning.
    body["text"] = body["text"].replace('[factors]\naslr = ["on", "off"]', '[nuisance]\npolicy = "randomise"')
    status, plan = ada.post("/experiments/plan", body)
    assert status == 200, plan
    assert "an administrator forbids it" in str(plan["warnings"])
    assert root.post("/factors/aslr/allow")[0] == 200
    assert root.post("/factors/aslr/allow")[0] == 400
    kinds = [event.kind for event in Event.objects.order_by("pk") if event.kind.startswith("factor")]
    assert kinds == ["factor forbidden", "factor allowed"]


@pytest.mark.usefixtures("memory_database")
def test_no_factor_of_a_name_is_told_with_the_nearest_one() -> None:
    status, refused = ApiUser("root", admin=True).post("/factors/governr/forbid", {})
    assert status == 404
    assert refused["remedy"] == 'Did you mean "governor"?'


@pytest.mark.usefixtures("memory_database")
def test_a_policy_that_forbids_what_is_no_factor_lets_no_machine_join() -> None:
    misspelt = Policy(forbidden_factors=("governor", "swapiness"))
    with pytest.raises(InputError) as refused:
        join(policy=misspelt)
    assert refused.value.message == 'there is no factor "swapiness"'
    assert "forbidden_factors" in refused.value.where
    register(ApiUser("bob"), make_factor())
    with pytest.raises(InputError) as refused:
        join(policy=misspelt)
    assert refused.value.remedy == 'Did you mean "swappiness"?'
    join(policy=Policy(forbidden_factors=("governor", "swappiness")))


@pytest.mark.usefixtures("memory_database")
def test_a_machine_whose_policy_comes_to_forbid_what_is_no_factor_is_drained_with_the_reason() -> None:
    worker = join("lab")
    say(worker.worker_id, hello(policy=Policy(forbidden_factors=("frequency_governor",))), START_S + 1.0)
    stored = FleetWorker.objects.get()
    assert stored.state == "drained"
    assert 'there is no factor "frequency_governor"' in stored.state_reason
    assert 'Did you mean "governor"?' in stored.state_reason


@pytest.mark.usefixtures("memory_database")
def test_pages_show_factors_and_let_administrators_forbid_them() -> None:
    ada, root = ApiUser("ada"), ApiUser("root", admin=True)
    register(ada, make_factor())
    join("lab", owner="eve")
    browser = Client()
    browser.force_login(ada.user)
    assert "swappiness" in browser.get("/factors").content.decode()
    page = browser.get("/factors/aslr").content.decode()
    assert "on, off" in page
    assert "Forbid" not in page
    assert browser.post("/factors/aslr/forbid", {"reason": "x"}).status_code == 403
    browser.force_login(root.user)
    assert "Forbid" in browser.get("/factors/aslr").content.decode()
    assert browser.post("/factors/aslr/forbid", {"reason": "It hides <bugs>."}).status_code == 302
    assert "It hides &lt;bugs&gt;." in browser.get("/factors").content.decode()
    assert browser.get("/factors/nothing").status_code == 404
