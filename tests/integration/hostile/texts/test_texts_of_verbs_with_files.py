"""Verbs that need files, guests, a repository or a bundle print nothing either that a terminal obeys."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from django.conf import settings
from integration.hostile.texts.told.played_client import TEXT, played_client, type_verb
from integration.hostile.texts.told.walked_records import make_record as write_record
from integration.service.api_users import SCRIPT, pack
from integration.service.api_users import TEXT as EXPERIMENT
from integration.service.fleets import make_record
from integration.service.small_fleet import Fleet

from datamill.cli.clean_console import CleanConsole
from datamill.cli.console import clean_for_terminal
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.json_answer import spell_answer
from datamill.cli.machine import worker_lab
from datamill.cli.main import datamill
from datamill.cli.selection.history import collect
from datamill.experiment.errors import InputError
from datamill.guests import lab as guest_lab
from datamill.guests.images import worker_image
from datamill.guests.lab import LabGuest, LabState
from datamill.protocol.api.submissions import ExperimentSource, SubmittedFile
from datamill.protocol.trial import Failure
from datamill.selection.history.collection_outcome import CollectionOutcome

__all__ = ["played_client"]
_LOCAL = '[experiment]\nname = "x"\nreplicates = 1\n[[package]]\nname = "p"\npath = "p"\n'


def test_json_of_a_verb_is_the_same_without_what_a_terminal_obeys() -> None:
    told = spell_answer(TEXT, warnings=(TEXT,), found=TEXT)
    assert clean_for_terminal(told) == told
    read = json.loads(told)
    assert (read["answer"], read["warnings"], read["found"]) == ([TEXT], [TEXT], TEXT)


@pytest.mark.usefixtures("played_client")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
def test_submit_prints_the_plan_and_warnings_of_a_coordinator_as_texts(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for script in ("run.sh", "collect.sh"):
        (package / script).write_bytes(SCRIPT)
        (package / script).chmod(0o755)
    (tmp_path / "experiment.toml").write_text(_LOCAL)
    told = type_verb("submit", "experiment.toml", "--yes", *form)
    # Square brackets are no markup of ours either.
    assert "[bold]dmq[/bold]" in told


@pytest.mark.usefixtures("played_client")
def test_fork_prints_the_owner_of_an_experiment_as_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    file = SubmittedFile("p", "package", "0" * 64, 400)
    source = ExperimentSource(1, "forked", TEXT, _LOCAL, (file,))

    def bring(_client: CoordinatorClient, _sha256: str, place: Path) -> None:
        place.write_bytes(pack({"run.sh": SCRIPT, "collect.sh": SCRIPT}))

    monkeypatch.setattr(CoordinatorClient, "get", lambda *_, **__: source)
    monkeypatch.setattr(CoordinatorClient, "download", bring)
    told = type_verb("fork", "1")
    assert "1 archive" in told
    assert Path("forked/p/run.sh").read_bytes() == SCRIPT


@pytest.mark.usefixtures("played_client")
def test_fork_refuses_a_file_that_it_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ExperimentSource(1, "dmq", TEXT, TEXT, ())
    monkeypatch.setattr(CoordinatorClient, "get", lambda *_, **__: source)
    asked = ["fork", "1", "--out", "forked", "--url", "http://127.0.0.1:9", "--key", "dmk_x"]
    refused = CliRunner().invoke(datamill, asked).exception
    assert isinstance(refused, InputError)
    assert refused.message.startswith("the file of the experiment cannot be read: ")
    assert not Path("forked").exists()


@pytest.fixture
def bundle(data_folder: None, memory_database: str) -> bytes:
    """An experiment with a question, and a trial that failed with a message, that terminals obey."""
    assert data_folder is None
    assert memory_database == "sqlite"
    question = json.dumps(TEXT, ensure_ascii=True)
    fleet = Fleet()
    body = fleet.body | {"text": EXPERIMENT.replace('"Which is faster?"', question)}
    fleet.number = fleet.ada.post("/experiments", body)[1]["id"]
    failure = Failure("run", "exit_status", TEXT, "")
    failed: dict[str, Any] = {"outcome": "failed", "failure": failure, "run": None, "collect": None}
    first = True
    while leases := fleet.lease():
        for worker_id, lease in leases.items():
            fleet.end(worker_id, lease, make_record(lease, **failed) if first else None)
            first = False
    return fleet.read()


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own for the coordinator's files."""
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
def test_fetch_prints_what_users_and_workers_wrote_as_texts(
    bundle: bytes, played_client: None, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert played_client is None

    @contextlib.contextmanager
    def send(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(iter_bytes=lambda _size=0: iter([bundle]))

    monkeypatch.setattr(CoordinatorClient, "stream", send)
    type_verb("fetch", "1", "--out", "taken", *form)
    assert Path("taken/report.html").is_file()


class PlayedLab:
    """Guests that need no machine; the second look ends the lab, as Ctrl-C does."""

    def __init__(self, *_: Any) -> None:
        self._looks = 0

    def start(self) -> None:
        """All are on."""

    def look(self) -> list[LabState]:
        self._looks += 1
        if self._looks > 1:
            raise KeyboardInterrupt
        return [LabState(LabGuest("dmq", "x86_64", "qemu64", "https://10.0.2.2"), True, "b", 1, 1.0, TEXT)]

    def stop(self, tell: Any) -> None:
        tell(TEXT)


@pytest.mark.usefixtures("played_client")
def test_a_lab_prints_the_states_of_its_machines_as_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_image, "build_worker_image", lambda **_: None)
    monkeypatch.setattr(guest_lab, "Lab", PlayedLab)
    monkeypatch.setattr(guest_lab, "add_guest", lambda *_: None)
    monkeypatch.setattr(worker_lab, "_ask_states", lambda _: {"dmq": TEXT})
    monkeypatch.setattr(worker_lab, "_LOOK_EVERY_S", 0.0)
    asked = ("--guests", "1", "--names", "--folder", str(tmp_path / "lab"))
    told = type_verb("worker", "lab", *asked, url="https://127.0.0.1:9")
    assert "[bold]dmq[/bold]" in told


def test_the_live_table_of_a_lab_is_made_of_texts() -> None:
    (state,) = PlayedLab().look()
    console = CleanConsole(width=200, file=io.StringIO())
    for workers in ({"dmq": TEXT}, {"": TEXT}):
        with console.capture() as printed:
            console.print(worker_lab._make_table([state], workers))
        assert clean_for_terminal(printed.get()) == printed.get()
        assert printed.get().count("[bold]dmq[/bold]") == 2


@pytest.mark.usefixtures("played_client")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
def test_what_was_collected_on_a_fleet_is_printed_as_texts(
    form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect_there(_question: Any, _project: Any, _history: Any, fleet: Any, _machine: Any) -> Any:
        fleet.follow(1)
        return write_record(CollectionOutcome, lambda _: TEXT)

    project = SimpleNamespace(history=object())
    monkeypatch.setattr(collect, "find_project", lambda *_: project)
    monkeypatch.setattr("datamill.conduct.selection.fleet.collect_on_fleet.collect_on_fleet", collect_there)
    type_verb("selection", "collect", "--fleet", *form)


@pytest.mark.usefixtures("played_client")
def test_what_is_collected_here_is_printed_as_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    def collect_here(*asked: Any) -> Any:
        *_, tell = asked
        tell(TEXT)
        return write_record(CollectionOutcome, lambda _: TEXT)

    project = SimpleNamespace(history=object(), settings=None, store=None, here=None)
    monkeypatch.setattr(collect, "find_project", lambda *_: project)
    monkeypatch.setattr(collect, "collect_history", collect_here)
    type_verb("selection", "collect")
