"""The API for experiments: planned, submitted, seen by those who may, refused with reasons."""

from __future__ import annotations

import hashlib
import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
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
    find_attempt,
    join,
    list_leases,
    make_record,
    say,
    tell_record,
)

from datamill.protocol.fleet import GuestOffer, Policy
from datamill.protocol.offers import FactorOffer
from datamill.service.accounts import revoke_api_key
from datamill.service.bounded_work import calls
from datamill.service.coordinator.presence.members import drain_worker
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, Experiment, Quarantine, Trial
from datamill.service.submissions import quotas


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")


def run_to_the_end(now_s: float = START_S) -> None:
    """Let every worker complete what it is given until there is nothing more to do."""
    for _ in range(200):
        now_s += 1.0
        step(now_s)
        leases = list_leases(now_s)
        if not leases:
            return
        for worker_id, lease in leases.items():
            now_s += 1.0
            say(worker_id, tell_record(lease), now_s)
    raise AssertionError("the experiment does not end")


@pytest.mark.usefixtures("database")
def test_a_plan_shows_workers_coverage_and_size_and_changes_nothing() -> None:
    ada = ApiUser("ada")
    for name in ("fast", "slow"):
        join(name)
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert status == 200
    assert [worker["name"] for worker in plan["workers"]] == ["fast", "slow"]
    assert plan["coverage"] == {"machine": {"chosen": ["fast", "slow"], "of": ["fast", "slow"]}}
    assert (plan["points"], plan["replicates"], plan["trials"]) == (4, 2, 8)
    assert plan["finish_s"] is None
    assert plan["missing_files"] == []
    assert not Experiment.objects.exists()


@pytest.mark.usefixtures("database")
def test_the_process_that_leases_trials_reads_no_machines_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ApiUser("ada")
    join("fast")
    monkeypatch.setattr(calls, "_serving", CallsElsewhere())
    with CaptureQueriesContext(connection) as queries:
        assert ada.post("/experiments/plan", make_submission(ada.user)) == (200, {"made": "elsewhere"})
    assert not [query["sql"] for query in queries if "datamill_worker" in query["sql"]]


class CallsElsewhere:
    """Calls in processes of their own that answer at once."""

    def run(self, *_: object) -> bytes:
        return b'{"made": "elsewhere"}'


@pytest.mark.usefixtures("database")
def test_an_experiment_is_submitted_and_counts_its_trials() -> None:
    ada = ApiUser("ada")
    for name in ("fast", "slow"):
        join(name)
    status, submitted = ada.post("/experiments", make_submission(ada.user))
    assert status == 200
    number = submitted["id"]
    assert find_violations() == []
    status, experiment = ada.get(f"/experiments/{number}")
    assert experiment["state"] == "running"
    assert experiment["trials"] == {"planned": 8}
    assert experiment["workers"] == {"fast": {"planned": 4}, "slow": {"planned": 4}}
    run_to_the_end()
    status, experiment = ada.get(f"/experiments/{number}")
    assert (experiment["state"], experiment["trials"]) == ("completed", {"counted": 8})
    # Now the packages have been timed, and the next plan says until when.
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert plan["finish_s"] > 0


@pytest.mark.usefixtures("database")
def test_a_user_has_no_more_trials_waiting_than_the_database_can_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada, bea = ApiUser("ada"), ApiUser("bea")
    join("one")
    monkeypatch.setattr(quotas, "MOST_OPEN_TRIALS", 10)
    answers = [ada.post("/experiments", make_submission(ada.user)) for _ in range(3)]
    assert [status for status, _ in answers] == [200, 200, 400]
    assert "8 of your trials have not ended" in answers[-1][1]["message"]
    assert bea.post("/experiments", make_submission(bea.user))[0] == 200
    monkeypatch.setattr(quotas, "_TRIAL_BYTES", 1 << 60)
    status, refused = bea.post("/experiments", make_submission(bea.user))
    assert (status, "has no room" in refused["message"]) == (400, True)
    assert Trial.objects.count() == 12


@pytest.mark.usefixtures("database")
def test_what_was_typed_takes_the_place_of_what_the_file_says() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user, debug="first", public=True, hold=True, reboot="trial")
    _, submitted = ada.post("/experiments", body)
    stored = Experiment.objects.get(pk=submitted["id"])
    assert (stored.reboot, stored.public, stored.hold, stored.state) == ("trial", True, True, "debugging")
    assert submitted["debug_trials"] == 2
    assert Trial.objects.filter(experiment=stored, purpose="debug").count() == 2


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
    assert not Experiment.objects.exists()


@pytest.mark.usefixtures("database")
def test_others_see_an_experiment_only_when_it_is_public() -> None:
    ada, bob, root = ApiUser("ada"), ApiUser("bob"), ApiUser("root", admin=True)
    join("one")
    private = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    public = ada.post("/experiments", make_submission(ada.user, public=True))[1]["id"]
    for path in ("", "/trials", "/events"):
        assert bob.get(f"/experiments/{private}{path}")[0] == 404
        assert bob.get(f"/experiments/{public}{path}")[0] == 200
        assert root.get(f"/experiments/{private}{path}")[0] == 200
    assert [item["id"] for item in bob.get("/experiments")[1]] == [public]
    assert [item["id"] for item in ada.get("/experiments")[1]] == [public, private]
    assert bob.get("/experiments", mine="true")[1] == []
    assert bob.post(f"/experiments/{private}/cancel")[0] == 404
    assert bob.post(f"/experiments/{public}/cancel")[0] == 403
    assert root.post(f"/experiments/{private}/cancel")[1]["state"] == "cancelled"
    assert ada.post(f"/experiments/{public}/cancel")[1]["state"] == "cancelled"
    status, again = ada.post(f"/experiments/{public}/cancel")
    assert status == 400
    assert "has ended" in again["message"]


@pytest.mark.usefixtures("database")
def test_nobody_gets_in_without_a_key_or_with_one_that_was_revoked() -> None:
    ada = ApiUser("ada")
    answer = Client().get("/api/experiments")
    assert answer.status_code == 401
    assert answer.json()["message"] == "there is no key"
    assert ada.get("/me") == (200, {"user": "ada", "admin": False, "datamill": "0.1.0"})
    assert revoke_api_key(ada.user, "test") == 1
    assert ada.get("/me")[0] == 401
    assert list(Event.objects.filter(user="ada").values_list("kind", flat=True)) == [
        "user made",
        "api key made",
        "api key revoked",
    ]


@pytest.mark.usefixtures("database")
def test_a_submission_is_in_the_account_with_user_and_packages() -> None:
    ada, root = ApiUser("ada"), ApiUser("root", admin=True)
    join("one")
    body = make_submission(ada.user)
    number = ada.post("/experiments", body)[1]["id"]
    assert ada.get("/events")[0] == 403
    _, page = root.get("/events", kind="experiment submitted")
    told = [(event["user"], event["experiment"], event["package_sha256"]) for event in page["events"]]
    assert told == [("ada", number, item["sha256"]) for item in body["packages"]]
    run_to_the_end()
    _, page = ada.get(f"/experiments/{number}/events")
    counted = [event for event in page["events"] if event["kind"] == "attempt counted"]
    assert {event["worker"] for event in counted} == {"one"}
    assert len(counted) == 4


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
    assert not Experiment.objects.exists()


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
    assert "the design has 4,000,000 trials" in refused["message"]


@pytest.mark.usefixtures("database")
def test_trials_are_listed_in_pages_with_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ApiUser("ada")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    run_to_the_end()
    monkeypatch.setattr("datamill.service.api.experiments.MOST_ROWS", 3)
    _, first = ada.get(f"/experiments/{number}/trials")
    _, second = ada.get(f"/experiments/{number}/trials", after=first["next"])
    trials = first["trials"] + second["trials"]
    assert (len(first["trials"]), second["next"]) == (3, None)
    assert {trial["trial_id"] for trial in trials} == {
        trial.trial_id for trial in Trial.objects.filter(experiment=number)
    }
    assert {(trial["state"], trial["outcome"], trial["worker"]) for trial in trials} == {
        ("counted", "completed", "one")
    }
    assert ada.get(f"/experiments/{number}/trials", state="planned")[1]["trials"] == []
    assert ada.get(f"/experiments/{number}/trials", state="nonsense")[0] == 422
    assert find_attempt(f"{number}.{trials[0]['trial_id']}.1").state == "counted"


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
def test_upload_digests_are_lower_case_hexadecimal() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user)
    body["packages"][0]["sha256"] = hashlib.sha256(make_package()).hexdigest().upper()
    status, refused = ada.post("/experiments/plan", body)
    assert (status, refused["where"]) == (422, "packages.0.sha256")


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


METRIC = (
    TEXT + '\n[responses.rate]\nunit = "1/s"\nformula = "operations / wall_time_s"\ndirection = "higher"\n'
)
SILENT = pack({"run.sh": SCRIPT})


@pytest.mark.usefixtures("database")
def test_a_metric_that_a_package_cannot_report_is_refused_with_the_plan() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    body = make_submission(ada.user, METRIC)
    body["packages"][0] = describe_file("p1", store(SILENT, ada.user), len(SILENT), has_collect=False)
    status, problem = ada.post("/experiments/plan", body)
    assert status == 400
    assert problem["message"] == (
        'response "rate" needs "operations", which package "p1" cannot report: it has no collect.sh'
    )
    assert problem["where"] == "experiment.toml: [responses.rate] formula"


@pytest.mark.usefixtures("database")
def test_what_a_client_says_of_its_packages_is_not_believed_when_it_submits() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    body = make_submission(ada.user, METRIC)
    body["packages"][0] = describe_file("p1", store(SILENT, ada.user), len(SILENT))
    status, problem = ada.post("/experiments", body)
    assert (status, "cannot report" in problem["message"]) == (400, True)
    assert not Experiment.objects.exists()


@pytest.mark.usefixtures("database")
def test_a_plan_says_which_metrics_are_not_checked_and_what_will_show_them() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    near = METRIC.replace("operations", "wall_times")
    for debug, shown_by in (("never", "the first trials show"), ("first", "the debug trials, before the")):
        status, plan = ada.post("/experiments/plan", make_submission(ada.user, near, debug=debug))
        assert status == 200
        (unchecked,) = (text for text in plan["warnings"] if "not checked here" in text)
        assert unchecked.startswith("wall_times is a metric that packages must report")
        assert shown_by in unchecked
        assert any('built-in "wall_time_s" is meant' in text for text in plan["warnings"])
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert not any("metric" in text for text in plan["warnings"])


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("reported", ["operations", "operation"])
def test_debug_trials_without_a_metric_that_the_question_needs_hold_the_design(reported: str) -> None:
    ada = ApiUser("ada")
    join("lab-1")
    number = ada.post("/experiments", make_submission(ada.user, METRIC, debug="first"))[1]["id"]
    now_s = START_S
    for _ in range(2):
        step(now_s)
        ((worker_id, lease),) = list_leases(now_s).items()
        say(worker_id, tell_record(lease, make_record(lease, metrics={reported: (5.0,)})), now_s)
    step(now_s)
    stored = Experiment.objects.get(pk=number)
    if reported == "operations":
        assert stored.state == "running"
        return
    assert stored.state == "held"
    assert stored.state_reason.startswith(
        'response "rate" needs "operations", which is not built in and which'
    )
    assert 'Did you mean "operation"?' in stored.state_reason


@pytest.mark.usefixtures("database")
def test_the_form_refuses_a_metric_that_cannot_come_and_says_what_nobody_checked() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    client = Client()
    client.force_login(ada.user)
    asked = {
        "name": "a", "replicates": "2", "response": "own", "metric": "rate",
        "formula": "operations / wall_time_s", "unit": "1/s", "direction": "higher",
    }  # fmt: skip
    for content, said in (
        (SILENT, "cannot report: it has no collect.sh"),
        (make_package(), "operations is a metric that packages must report, which is not checked here"),
    ):
        chosen = {**asked, "p": f"p1@{store(content, ada.user)}"}
        page = client.get("/experiments/new/space/preview", chosen).content.decode()
        assert said in html.unescape(page)
