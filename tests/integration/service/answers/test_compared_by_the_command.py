"""`datamill compare --experiment` prints what it would print of the bundles, by the API alone."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from django.test import Client
from integration.service.answers.measured_versions import MeasuredVersions

from datamill.cli.analyze import compare as compare_module
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.main import datamill as command
from datamill.client_settings import ClientSettings
from datamill.experiment.errors import InputError
from datamill.service.answers.compared import comparing

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
AT = ("--where", "package=p1", "--where", "machine=fast")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    comparing._kept.clear()


def reach(fleet: MeasuredVersions, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the command reach the coordinator of this process; returns the paths that it asks for."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        browser = Client(headers={"Authorization": f"Bearer {fleet.ada.key}"})
        found = browser.get(request.url.raw_path.decode())
        return httpx.Response(
            found.status_code, content=found.content, headers={"Content-Type": found["Content-Type"]}
        )

    def connect(*_: object) -> CoordinatorClient:
        client = CoordinatorClient(ClientSettings("https://lab", "key", None))
        client._client = httpx.Client(base_url="https://lab", transport=httpx.MockTransport(answer))
        return client

    monkeypatch.setattr(compare_module, "connect", connect)
    return asked


def run(*words: str) -> Result:
    return CliRunner().invoke(command, ["compare", *words])


@pytest.mark.parametrize("printed", [(), ("--verbose",), ("--to", "markdown"), ("--series",)], ids=str)
def test_it_prints_the_statement_of_the_bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: tuple[str, ...]
) -> None:
    fleet = MeasuredVersions(1.0, 1.0, 1.2)
    names = fleet.take_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = reach(fleet, monkeypatch)
    experiments = [word for number in fleet.numbers for word in ("--experiment", str(number))]
    theirs = run(*experiments, *printed)
    ours = run(*names, *AT, *printed)
    assert (theirs.exit_code, ours.exit_code) == (0, 0), theirs.output
    assert theirs.stdout == ours.stdout
    chose = "datamill: compared at --where package=p1 --where machine=fast, which nobody chose"
    assert chose in theirs.stderr
    assert "nobody chose" not in run(*experiments, *AT, *printed).stderr
    assert asked == ["/api/compare"] * 2


def test_it_writes_the_figure_and_the_status_that_it_would_of_the_bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = MeasuredVersions(1.0, 1.2)
    names = fleet.take_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    reach(fleet, monkeypatch)
    experiments = [word for number in fleet.numbers for word in ("--experiment", str(number))]
    worse = ("--direction", "lower", "--check", "worse")
    theirs = run(*experiments, *AT, *worse, "--figure", "theirs.json", "--json")
    ours = run(*names, *AT, *worse, "--figure", "ours.json", "--json")
    assert (theirs.exit_code, ours.exit_code) == (1, 1)
    assert theirs.stderr == ours.stderr
    assert json.loads(ours.stdout).items() <= json.loads(theirs.stdout).items()
    drawn = [json.loads((tmp_path / f"{whose}.json").read_text()) for whose in ("theirs", "ours")]
    assert drawn[0] == drawn[1]
    unknown = run(*experiments, *AT, "--check", "worse", "--response", "user_time_s")
    assert unknown.exit_code == 1
    assert "it was not stated whether higher or lower user_time_s is worse" in str(unknown.exception)


def test_a_check_wants_chosen_what_has_others(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = MeasuredVersions(1.0, 1.2)
    reach(fleet, monkeypatch)
    experiments = [word for number in fleet.numbers for word in ("--experiment", str(number))]
    refused = run(*experiments, "--direction", "lower", "--check", "worse", "--where", "package=p1")
    assert isinstance(refused.exception, InputError)
    assert refused.exception.message == "nobody chose machine, and others may have changed for the worse"
    assert (
        refused.exception.remedy == "Choose with --where machine=fast, or others: machine has fast and slow."
    )
    assert not refused.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a.csv",), "experiments of a coordinator are not compared with files"),
        (("--build", "id"), "it names a column"),
        (("--html", "page.html"), "the coordinator sends no page of a comparison"),
        (("--figure", "figure.pdf"), ".pdf"),
        (("--json", "--to", "csv"), "--json and --to ask for two outputs"),
    ],
    ids=["files", "columns", "page", "figure", "outputs"],
)
def test_what_goes_with_files_alone_is_refused_before_anybody_is_asked(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("it was asked")

    monkeypatch.setattr(compare_module, "connect", connect)
    found = run("--experiment", "1", "--experiment", "2", *words)
    assert told in f"{found.output}{found.exception}"
    assert found.exit_code != 0


def test_neither_files_nor_experiments_is_refused_with_an_example() -> None:
    found = run()
    assert found.exit_code == 2
    assert "compare old.csv new.csv" in found.stderr
