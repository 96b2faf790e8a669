"""A package on machines that did not run it: over the API, on its page, and as the command predicts it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.predictions.fingerprinted_fleet import (
    MACHINES,
    MEMBERS,
    FingerprintedFleet,
    take_time,
)

from datamill.cli.platforms.fleet import fleet_inputs
from datamill.cli.platforms.platforms import platforms
from datamill.protocol.api.machines import MachineScore, MachineTime, PackageTimes, ScoreList
from datamill.service.answers.elsewhere import machine_scores, predictions
from datamill.verbs.platforms.fleet_tables import predict_from_fleet

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    for kept in (machine_scores._kept, predictions._times, predictions._predictions):
        kept.clear()


def open_page(user: ApiUser, number: int, **asked: str) -> str:
    client = Client()
    client.force_login(user.user)
    answer = client.get(f"/experiments/{number}/elsewhere", asked)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


class FleetOfClient:
    """A client of the command line whose coordinator is this process."""

    def __init__(self, user: ApiUser) -> None:
        self._user = user

    def __enter__(self) -> FleetOfClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, kind: type[Any], **parameters: str) -> Any:
        status, told = self._user.get(path, **parameters)
        assert status == 200, told
        return msgspec.convert(told, kind)


def test_api_page_and_command_predict_the_same_near_the_truth(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fleet = FingerprintedFleet()
    fleet.run_suite(machines=7)
    number = fleet.run_application()
    status, told = fleet.ada.get(f"/experiments/{number}/prediction")
    assert status == 200, told
    measured = {row["machine"] for row in told["measured"]}
    (without,) = set(MACHINES) - {row["machine"] for row in told["predictions"]} - measured
    assert (len(measured), told["n"], told["method"]) == (5, 5, "ensemble")
    kept = [row for row in told["predictions"] if not row["refused"]]
    assert kept
    for row in kept:
        assert row["low"] < row["seconds"] < row["high"]
        assert row["seconds"] == pytest.approx(take_time("app", row["machine"]), rel=0.2)
    # The command has the same from what the coordinator sends.
    monkeypatch.setattr(fleet_inputs, "connect", lambda _url, _key: FleetOfClient(fleet.ada))
    printed = CliRunner().invoke(platforms, ["predict", "--experiment", str(number), "--json"])
    assert json.loads(printed.stdout) == told
    for verb in ("rank", "fit"):
        printed = CliRunner().invoke(platforms, [verb, "--experiment", str(number), "--json"])
        for key in ("measured", "verdict", "expected_error", "suite_error", "checked"):
            assert json.loads(printed.stdout)[key] == told[key]
    # And with the scores as a file, as `datamill platforms scores` writes them.
    (tmp_path / "scores.csv").write_bytes(fleet.ada.load("/scores.csv"))
    command = ["predict", str(tmp_path / "scores.csv"), "--experiment", str(number), "--json"]
    assert json.loads(CliRunner().invoke(platforms, command).stdout) == told
    page = open_page(fleet.ada, number)
    assert told["verdict"] in told["answer"]
    for sentence in told["answer"]:
        assert sentence in page
    assert page.count('class="interval"') == len(kept) + 5
    for row in told["predictions"]:
        assert all(reason in page for reason in row["reasons"])
    assert f"<p>{without}. Nothing is predicted there" in page


def test_without_scores_the_page_says_what_to_do_and_the_api_refuses() -> None:
    fleet = FingerprintedFleet(machines=MACHINES[:2])
    number = fleet.run_application(machines=2)
    page = open_page(fleet.ada, number)
    assert "No machine has scores yet" in page
    assert "datamill submit fingerprint/experiment.toml" in page
    status, told = fleet.ada.get(f"/experiments/{number}/prediction")
    assert (status, told["message"][:32]) == (400, "there are no scores of machines ")
    assert "datamill platforms suite" in told["remedy"]


def test_an_experiment_that_measured_nothing_yet_says_so() -> None:
    fleet = FingerprintedFleet(machines=MACHINES[:2])
    fleet.finish = lambda: None  # type: ignore[method-assign]
    number = fleet.run_application(machines=2)
    status, told = fleet.ada.get(f"/experiments/{number}/times")
    assert (status, told["where"]) == (400, f"experiment {number}")
    assert "no trial of its design has ended" in told["message"].lower()
    assert "No trial of its design has ended" in open_page(fleet.ada, number)


def test_each_combination_of_levels_is_an_application_that_has_to_be_named() -> None:
    fleet = FingerprintedFleet(machines=MACHINES[:2])
    number = fleet.run_application(machines=2, more='[factors]\naslr = ["on", "off"]\n')
    status, told = fleet.ada.get(f"/experiments/{number}/times")
    assert status == 400
    assert "app aslr=on" in told["message"]
    assert "--package" in told["remedy"]
    status, told = fleet.ada.get(f"/experiments/{number}/times", package="app aslr=off")
    assert status == 200
    assert sorted(told["applications"]) == ["app aslr=off", "app aslr=on"]
    assert [(row["machine"], row["replicate"]) for row in told["times"]].count(("m0", 1)) == 1
    assert len(told["times"]) == 4
    page = open_page(fleet.ada, number, package="app aslr=off")
    assert "<option selected>app aslr=off</option>" in page


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"package": "appp"}, 'no valid value of a package "appp"'),
        ({"response": "speed"}, 'no response "speed"'),
    ],
)
def test_what_an_experiment_does_not_have_is_refused_by_name(asked: dict[str, str], wrong: str) -> None:
    fleet = FingerprintedFleet(machines=MACHINES[:2])
    number = fleet.run_application(machines=2)
    status, told = fleet.ada.get(f"/experiments/{number}/prediction", **asked)
    assert (status, wrong in told["message"]) == (400, True)


@pytest.mark.parametrize("path", ["times", "prediction"])
def test_experiments_of_others_are_not_there(path: str) -> None:
    fleet = FingerprintedFleet(machines=MACHINES[:2])
    number = fleet.run_application(machines=2)
    bob = ApiUser("bob")
    assert bob.get(f"/experiments/{number}/{path}")[0] == 404
    client = Client()
    client.force_login(bob.user)
    assert client.get(f"/experiments/{number}/elsewhere").status_code == 404


def test_a_prediction_is_made_again_only_when_its_data_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = FingerprintedFleet(machines=MACHINES[:2])
    number = fleet.run_application(machines=2)
    made = []
    call = predictions.call_bounded

    def count(*arguments: Any) -> Any:
        made.append(arguments[1].__name__)
        return call(*arguments)

    monkeypatch.setattr(predictions, "call_bounded", count)
    for _ in range(2):
        fleet.ada.get(f"/experiments/{number}/times")
    assert made == ["read_folder"]


def test_what_the_coordinator_says_of_its_data_stands_with_the_prediction() -> None:
    rows = [(machine, member) for machine in MACHINES for member in MEMBERS]
    scores = ScoreList(
        tuple(MachineScore(machine, member, 1, take_time(member, machine), 1) for machine, member in rows),
        ("scores in experiment 3 are left out: it sets aslr",),
    )
    times = PackageTimes(
        7,
        "app",
        "wall_time",
        ("app",),
        ("wall_time",),
        tuple(MachineTime(name, 1, take_time("app", name), None) for name in MACHINES[:5]),
        ("2 of 10 trials of experiment 7 have no record yet",),
    )
    found = predict_from_fleet(scores, times)
    assert [item.machine for item in found.predictions] == list(MACHINES[5:])
    assert found.warnings[:2] == (*times.warnings, *scores.warnings)
