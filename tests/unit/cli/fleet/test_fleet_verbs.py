"""What the client verbs of a fleet make of the coordinator's answers."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import asdict, replace
from rich.console import Console

from datamill.cli.coordinator import event_stream
from datamill.cli.coordinator.coordinator_client import ChangedPlanError, UnreachableError
from datamill.cli.coordinator.coordinator_settings import read_settings
from datamill.cli.coordinator.event_stream import StreamEvent, follow_experiment
from datamill.cli.experiment.new import new
from datamill.cli.fleet.fetch import describe_counts
from datamill.cli.fleet.submission.show_plan import describe_plan
from datamill.cli.fleet.submit import submit
from datamill.cli.fleet.watch import FleetProgress, describe_progress
from datamill.conduct.fleet.pack_submission import naming_file
from datamill.experiment.errors import InputError
from datamill.protocol.api.bundles import FleetSummary
from datamill.protocol.api.events import EndNews, EventLine, OutputNews, ProgressNews
from datamill.protocol.api.plans import AcceptedSubmission, PlannedWorker, SubmissionPlan
from datamill.protocol.api.submissions import SubmissionRequest

PLAN = msgspec.convert(
    {
        "name": "loops",
        "workers": [{"name": "pi", "why": "arch aarch64 (it alone)"}],
        "spares": ["other-pi"],
        "ineligible": [{"name": "old", "reason": "it is drained"}],
        "coverage": {"arch": {"chosen": ["aarch64"], "of": ["aarch64", "x86_64"]}},
        "factors": [
            {"name": "package", "levels": ["a", "b"], "treatment": ""},
            {"name": "machine", "levels": ["pi"], "treatment": "fixed at pi"},
            {"name": "optimization", "levels": ["-O3"], "treatment": "fixed at -O3"},
            {"name": "env_padding", "levels": [], "treatment": "drawn for each trial from 0..4096"},
        ],
        "points": 2,
        "replicates": 1,
        "trials": 2,
        "growth": "",
        "debug_trials": 2,
        "reboot": "trial",
        "debug": "first",
        "profiled": [],
        "finish_s": None,
        "warnings": ["few of them."],
        "missing_files": [],
        "digest": "1" * 64,
    },
    SubmissionPlan,
)
PROGRESS = ProgressNews(
    state="running",
    reason="",
    trials={"counted": 6, "given_up": 1, "leased": 1, "planned": 2},
    debug_trials={"done": 2},
    workers={"pi": {"counted": 6}},
    finish_s=90.0,
)


def test_a_plan_says_who_what_how_much_and_until_when() -> None:
    assert [line.plain for line in describe_plan(PLAN)] == [
        "loops: 1 worker",
        "  pi: arch aarch64 (it alone)",
        "stand by: other-pi",
        "coverage of arch: 1 of 2 (aarch64)",
        "not old: it is drained",
        "factors: 2 package (a, b)",
        "not varied: optimization, fixed at -O3",
        "not varied: env_padding, drawn for each trial from 0..4096",
        "trials: 2 (2 design points x 1 replicate), after 2 debug trials, a reboot before each",
        "estimated finish: unknown, since these packages never ran on this fleet",
        "Warning: few of them.",
    ]


def test_a_large_fleet_is_not_listed_whole() -> None:
    workers = tuple(PlannedWorker(f"m{number}", "arch x86_64") for number in range(500))
    lines = [line.plain for line in describe_plan(replace(PLAN, workers=workers, finish_s=7200.0))]
    assert len(lines) < 30
    assert "  … and 492 more" in lines
    assert "estimated finish: in about 2 h" in lines


def test_progress_counts_what_ended_and_what_is_left() -> None:
    assert describe_progress(PROGRESS) == (
        "running: 6 of 10 trials counted (1 given up), 3 left, about 1 min 30 s to go"
    )
    cancelled = replace(PROGRESS, trials={"counted": 6, "cancelled": 4}, finish_s=None)
    assert describe_progress(cancelled) == "running: 6 of 10 trials counted (0 given up, 4 cancelled), 0 left"
    only_debug = replace(PROGRESS, trials={}, debug_trials={"done": 1, "leased": 1})
    assert describe_progress(only_debug) == "running, 1 of 2 debug trials ended"


def test_output_is_printed_by_lines_and_cannot_move_the_cursor() -> None:
    printed = io.StringIO()

    def tell(text: str) -> StreamEvent:
        return StreamEvent("output", OutputNews("1.debug01.1", "pi", "debug01", 0, "run", text), "")

    with FleetProgress(Console(file=printed, width=100), 7) as progress:
        for text in ("half a ", "line\nred \x1b[31m\rwhole\n", "no end"):
            progress.show(tell(text))
    assert printed.getvalue().splitlines() == [
        "pi debug01 run | half a line",
        "pi debug01 run | red \ufffd[31m\ufffdwhole",
        "pi debug01 run | no end",
    ]


def test_what_happened_is_printed_and_cannot_move_the_cursor() -> None:
    """The reason comes from a script of somebody."""
    printed = io.StringIO()
    detail = "package xz is stopped: \x1b]0;owned\x07 it failed"
    content = EventLine(1, 0.0, "package stopped", "", "", 7, "", "", detail)
    with FleetProgress(Console(file=printed, width=200), 7) as progress:
        progress.show(StreamEvent("event", content, ""))
    assert "package stopped: package xz is stopped: \ufffd]0;owned\ufffd it failed" in printed.getvalue()


EVENT = EventLine(0, 0.0, "attempt leased", "", "pi", 7, "", "", "")
END = EndNews("completed", "")


class BrokenStream:
    """A coordinator that goes away after each event, and once does not answer at all."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @contextmanager
    def stream(self, _path: str, **headers: str) -> Iterator[Any]:
        self.asked.append(headers.get("Last-Event-ID", ""))
        if len(self.asked) == 3:
            raise UnreachableError("nobody there")
        number = len(self.asked)
        kind, content = ("end", END) if number == 5 else ("event", replace(EVENT, id=number))
        lines = [f"id: {number}.0", f"event: {kind}", f"data: {msgspec.json.encode(content).decode()}", ""]

        class Answer:
            def iter_lines(self) -> Iterator[str]:
                return iter(lines)

        yield Answer()


def test_a_stream_that_breaks_is_taken_up_where_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "_PAUSE_S", 0.0)
    coordinator, told = BrokenStream(), []
    events = list(follow_experiment(coordinator, 7, told.append))  # type: ignore[arg-type]
    assert [event.identity for event in events] == ["1.0", "2.0", "4.0", "5.0"]
    assert coordinator.asked == ["", "1.0", "2.0", "2.0", "4.0"]
    assert told.count("The coordinator is back.") == 3


def test_hours_without_news_do_not_end_the_patience_with_a_coordinator_that_restarts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "_PAUSE_S", 0.0)
    # Each event comes long after the one before it.
    monkeypatch.setattr(event_stream, "_PATIENCE_S", -1.0)
    coordinator, told = BrokenStream(), []
    coordinator.asked = [""] * 3
    events = list(follow_experiment(coordinator, 7, told.append))  # type: ignore[arg-type]
    assert [event.identity for event in events] == ["4.0", "5.0"]
    coordinator.asked = []
    with pytest.raises(UnreachableError, match="nobody there"):
        list(follow_experiment(coordinator, 7, told.append))  # type: ignore[arg-type]


def test_who_watches_a_held_experiment_is_told_what_to_type() -> None:
    printed = io.StringIO()
    with FleetProgress(Console(file=printed, width=200), 7) as progress:
        progress.show(StreamEvent("progress", replace(PROGRESS, state="held", reason="one failed"), ""))
    assert "datamill release 7" in printed.getvalue()
    assert "datamill cancel 7" in printed.getvalue()


def test_a_coordinator_that_was_never_there_is_no_interruption() -> None:
    coordinator = BrokenStream()
    coordinator.asked = ["", ""]
    with pytest.raises(UnreachableError, match="nobody there"):
        list(follow_experiment(coordinator, 7, print))  # type: ignore[arg-type]


def test_the_key_in_the_file_is_for_the_coordinator_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DATAMILL_CA", raising=False)
    file = tmp_path / "datamill" / "coordinator.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"url": "https://lab:1/", "api_key": "secret", "ca_pem": "PEM"}))
    found = read_settings(None, None)
    assert (found.url, found.api_key, found.ca_pem) == ("https://lab:1", "secret", "PEM")
    assert read_settings("https://lab:1", None).api_key == "secret"
    with pytest.raises(InputError, match="no key for https://other:1"):
        read_settings("https://other:1", None)
    other = read_settings("https://other:1", "mine")
    assert (other.api_key, other.ca_pem) == ("mine", None)


def test_counts_are_those_of_the_design_or_of_debug_trials_where_there_is_none() -> None:
    design = FleetSummary(
        experiment=7, name="loops", owner="ann", state="completed", state_reason="", reboot="never",
        submitted_unix_s=0.0, ended_unix_s=1.0, exported_unix_s=2.0, planned=12, counted=11,
        debug_planned=2, debug_completed=2, stopped={}, coverage={}, workers=(), spares=(),
    )  # fmt: skip
    assert describe_counts(design) == "11 of 12 trials counted"
    assert describe_counts(replace(design, planned=0)) == "2 of 2 debug trials completed"


def test_what_a_coordinator_refuses_of_a_file_is_told_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "five.toml"
    with pytest.raises(InputError) as caught, naming_file(path):
        raise InputError("unknown key", where="five.toml:7: [fleet] x", remedy="Mend it.")
    assert str(caught.value) == f"{path}:7: [fleet] x: unknown key\nMend it."
    with pytest.raises(InputError, match="gone") as caught, naming_file(path):
        raise InputError("the coordinator is gone", where="https://c")
    assert caught.value.where == "https://c"


class ChangingCoordinator:
    """A coordinator whose plan is another one by the time of the first answer."""

    def __init__(self) -> None:
        self.submitted: list[str] = []

    def __enter__(self) -> ChangingCoordinator:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def post(self, _path: str, _kind: type, _body: SubmissionRequest) -> Any:
        return PLAN

    def post_once(self, _path: str, _kind: type, body: SubmissionRequest, _meaning: SubmissionRequest) -> Any:
        self.submitted.append(body.plan)
        if len(self.submitted) == 1:
            raise ChangedPlanError("the plan has changed since it was shown", CHANGED)
        return AcceptedSubmission(**asdict(CHANGED), id=7)


def test_what_a_package_of_a_commit_leaves_out_is_noted_before_anything_is_submitted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("as committed")
    for words in (("init", "--quiet"), ("add", "kept"), ("commit", "--quiet", "--message", "all")):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=tmp_path, check=True
        )
    (tmp_path / "kept").write_text("changed since")
    (tmp_path / "experiment.toml").write_text(
        '[experiment]\nname = "one"\nseed = 1\nreplicates = 2\n'
        '[[package]]\nname = "a"\ngit = "."\nrev = "HEAD"\ncommand = "cat kept"\n'
    )
    monkeypatch.setattr("datamill.cli.fleet.submit.connect", lambda *_: ChangingCoordinator())
    asked = CliRunner().invoke(submit, [str(tmp_path)])
    assert asked.exit_code == 1
    assert 'Note: package "a" has no part of' in asked.output
    told = json.loads(CliRunner().invoke(submit, [str(tmp_path), "--yes", "--json"]).stdout)
    assert told["warnings"] == [note := told["warnings"][0], "few of them."]
    assert note.startswith('package "a" has no part of')


CHANGED = replace(PLAN, trials=4, replicates=2, digest="2" * 64)


@pytest.mark.parametrize(("answers", "submitted"), [("y\ny\n", 2), ("y\nn\n", 1)])
def test_a_plan_that_changed_meanwhile_is_shown_and_confirmed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: str, submitted: int
) -> None:
    new_experiment = CliRunner().invoke(new, [str(tmp_path / "loops")])
    assert new_experiment.exit_code == 0, new_experiment.output
    coordinator = ChangingCoordinator()
    monkeypatch.setattr("datamill.cli.fleet.submit.connect", lambda *_: coordinator)
    # The runner's input counts as a terminal, so that the question is asked.
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    found = CliRunner().invoke(submit, [str(tmp_path / "loops")], input=answers)
    assert coordinator.submitted == ["1" * 64, "2" * 64][:submitted]
    assert "Not submitted: the plan has changed since it was shown. It is now:" in found.output
    assert found.output.count("trials: 2 ") == found.output.count("trials: 4 ") == 1
    assert ("Submitted as experiment 7." in found.output) == (submitted == 2)
    assert found.exit_code == (0 if submitted == 2 else 1)
