"""Keys of the commands' JSON that scripts read: none goes and none changes its name unless `schema` says so.

Those of the verbs that Python has too are frozen in `report/verbs`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result
from faces.json_keys import list_keys
from made.selection import selection_answers
from made.selection.selection_records import make_function, make_profile, make_table

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD, judge_benchmarks
from datamill.analysis.gate.power import average_power, find_all_slowdowns
from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.timing_look import decide_timing
from datamill.cli.main import datamill
from datamill.conduct.gate.conduct_gate import GateOutcome
from datamill.conduct.timing.question import TimingQuestion, write_experiment_text
from datamill.conduct.timing.time_commands import TimedCommands
from datamill.execution.diagnosis.finding import Finding
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.gate.gate import Gate
from datamill.packing.git.git_trees import GitTree
from datamill.protocol.api.bundles import TABLES_SCHEMA, FleetSummary, TablePart, TableParts
from datamill.protocol.api.experiments import AnswerHead, ExperimentStatus, TrialLine, TrialList
from datamill.protocol.api.fleet.factors import FleetFactor, FleetFactorDetail, MachineLevels
from datamill.protocol.api.fleet.queue import FleetQueue, QueuedExperiment, QueuedUser
from datamill.protocol.api.fleet.stages import StageLine
from datamill.protocol.api.fleet.workers import WorkerLine
from datamill.protocol.api.machines import MachineScore, ScoreList
from datamill.protocol.api.members.addresses import NoticeTargetLine
from datamill.protocol.api.members.administration import (
    BackupLine,
    KindRoom,
    Removable,
    RetentionState,
    Room,
    UserLine,
    UserList,
)
from datamill.protocol.api.members.keys import KeyLine
from datamill.protocol.api.plans import (
    AcceptedSubmission,
    CoveredLevels,
    ExcludedWorker,
    PlannedFactor,
    PlannedWorker,
    SubmissionPlan,
)
from datamill.protocol.api.publications import AcceptedRerun, PublicationLine, PublishedAnswer, RerunLine
from datamill.protocol.noise import NoiseFacts, ProcessorNoise
from datamill.protocol.offers import FactorOffer, MissingLevel
from datamill.protocol.trial import DisturbanceFacts, HostFacts
from datamill.selection.tables.function_table import DataObject, FunctionTable

#: For each verb every key, with the keys that it lies in. A new key is added here; that one goes, or has
#: another name, takes another number in `schema`.
FROZEN = json.loads(Path(__file__).with_name("frozen_keys_of_commands.json").read_text())
FOREIGN = Path(__file__).parents[2] / "foreign"
ROOT = Path(__file__).parents[3]
IN_REPORTS = ROOT / "tests" / "unit" / "report" / "verbs" / "frozen_json_keys.json"
HOST = HostFacts("x86_64", "6.1", "Xeon", 2, 1 << 34, "boot")
PLAN = SubmissionPlan(
    name="loops",
    workers=(PlannedWorker("pi", "arch aarch64 (it alone)"),),
    spares=("other-pi",),
    ineligible=(ExcludedWorker("old", "it is drained"),),
    coverage={"arch": CoveredLevels(("aarch64",), ("aarch64", "x86_64"))},
    factors=(PlannedFactor("package", ("a", "b"), ""),),
    points=2,
    replicates=1,
    trials=2,
    growth="",
    debug_trials=2,
    reboot="trial",
    debug="first",
    profiled=("a",),
    finish_s=None,
    warnings=("few of them.",),
    missing_files=(),
    digest="1" * 64,
)
WORKER = WorkerLine(
    "pi", "ID", "alice", "drained", "its disk is full", {"arch": "aarch64"}, 0.0, 1.0, 2.0, {"done": 3}
)
STAGES = (StageLine("measure", 1, 1, 1, 1, 1, 1, "build"),)
QUEUE = FleetQueue(
    0.0,
    (QueuedUser("ada", 1.0, 1, 2.0, 1, 1.0, 60.0, 61.0, 300.0),),
    (QueuedExperiment(7, "sorting", "ada", "running", 1.0, "its turn", 3, 1, 0, 1, 0.0, 61.0, STAGES),),
)
TRIAL = TrialLine("q1", "design", 1, "pi", "a", {"aslr": "on"}, "counted", 1, "completed", "")
STATUS = ExperimentStatus(
    7, "loops", "alice", False, "running", "", "trial", 1.0, None, {"counted": 1}, {"done": 2}, {}, None, ()
)
FLEET = FleetSummary(
    7,
    "loops",
    "alice",
    "running",
    "",
    "trial",
    1.0,
    None,
    2.0,
    4,
    0,
    2,
    2,
    {},
    {"arch": ("aarch64",)},
    (),
    (),
)
RESTORED = {
    "is_restored": False,
    "undone": ["aslr is on again."],
    "overruled": ["swap is on again."],
    "forgotten": ["A reboot undid the governor."],
    "left": ["boost cannot be set."],
    "damaged": ["A line cannot be understood."],
    "would_undo": ["smt"],
    "given_up": ["irq balance stays off."],
}
PUBLISHED = PublicationLine(
    "0123456789ab", 7, "Loops", ("Jane Doe",), "MIT", 1.0, "1" * 64, 9, "http://mill/p", "http://mill/p.zip",
    "Doe J. (2026): Loops.", "a is faster by 5% (95% interval +4% to +6%).", True, "",
)  # fmt: skip
ROOM = UserLine("ada", 1, 9, 100, None, 1, 8, 100, 90, admin=False, active=True)
KEPT = RetentionState(30, None, Removable(1, 9), Removable(0, 0))
BACKUPS = [BackupLine("20260101T000000Z.sqlite3", 9, 1.0)]
FACTOR = FleetFactor("swap", "host", "Swap on or off", "1" * 64, "ada", 1.0, None, {"on": 1})
SHOWN = FleetFactorDetail(
    "swap", "host", "Swap on or off", "1" * 64, "ada", 1.0, None, {"on": 1},
    machines=(MachineLevels("pi", "ada", ("on",), "", allowed_by_owner=True),), versions=("1" * 64,),
)  # fmt: skip
#: What other questions are answered with, and what becomes of other wishes.
TOLD = {
    "/backups": BACKUPS,
    "/keys": [KeyLine("ci", ("read", "submit"), 1.0, 2.0)],
    "/notices": [NoticeTargetLine(1, "webhook", "https://a", ("ended",), True, 1.0, 2.0, "status 500")],
    "/factors": [FACTOR],
    "/factors/swap": SHOWN,
    "/publications": [PUBLISHED],
    "/publications/0123456789ab": PUBLISHED,
    "/publications/0123456789ab/answer": PublishedAnswer(
        "0123456789ab", "loops", "Which?", PUBLISHED.headline, ("Mean of a.",), ("Chance.",),
        ("few of them.",), 8, "means", 8, ("pi",), "0.1.0", "1" * 64,
    ),
    "/experiments/7/answer": AnswerHead("loops", "Which?", ("a.",), (), 8, 0.95, "means", (), ()),
    "/experiments/7/reruns": [
        RerunLine(8, 7, "ada", "completed", 0.05, 1.0, "reproduced", msgspec.Raw(b"{}"))
    ],
    "/me/room": ROOM,
    "/retention": KEPT,
    "/tables": TableParts(TABLES_SCHEMA, (TablePart(7, "sorting", "ada", "completed", 8, "v1"),), None),
    "/storage": Room((KindRoom("package", 1, 9),), 1, "SQLite", 9, 100, 90, 1, 8),
    "/users": UserList((ROOM,), None),
}  # fmt: skip
DONE = {
    "/backups": BACKUPS[0],
    "/experiments/7/publish": PUBLISHED,
    "/experiments/7/rerun": AcceptedRerun(8, 7, 0.05, 4),
    "/factors": SHOWN,
    "/factors/swap/allow": SHOWN,
    "/factors/swap/forbid": SHOWN,
    "/retention": KEPT,
}


class Coordinator:
    """A coordinator that answers each question once and for all."""

    url = "http://mill"

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, _kind: object, **_: object) -> Any:
        if path == "/workers":
            return [WORKER]
        if path == "/queue":
            return QUEUE
        if path in TOLD:
            return TOLD[path]
        if path == "/scores":
            return ScoreList((MachineScore("pi", "int-sort", 1, 0.5, 7),), ("experiment 3 is left out",))
        return TrialList((TRIAL,), None) if path.endswith("/trials") else STATUS

    def post(self, path: str, _kind: object, _body: object = None) -> Any:
        if path in DONE:
            return DONE[path]
        return PLAN if path.endswith("/plan") else AcceptedSubmission(**msgspec.structs.asdict(PLAN), id=7)

    def post_once(self, path: str, kind: object, body: object, _meaning: object = None) -> Any:
        return self.post(path, kind, body)

    def upload(self, *_: object, **__: object) -> None:
        pass

    @contextmanager
    def stream_made(self, _path: str, _within_s: float) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(iter_bytes=lambda: iter(()))

    @contextmanager
    def stream(self, _path: str) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(iter_bytes=lambda: iter(()))


def _take_home(_stream: object, folder: Path) -> SimpleNamespace:
    folder.mkdir()
    (folder / "fleet.json").write_bytes(msgspec.json.encode(FLEET))
    bundle = SimpleNamespace(folder=folder, report_file=folder / "report.html")
    return SimpleNamespace(bundle=bundle, records=[], left_out=("q1/run.out",))


@contextmanager
def _lock(**_: object) -> Iterator[tuple[int, ...]]:
    yield ()


def _offer(*_: object, **__: object) -> dict[str, FactorOffer]:
    missing = (MissingLevel("off", "it is compiled in"),)
    return {"aslr": FactorOffer("aslr", "process", ("on",), missing, current="on")}


def _write_worker(folder: Path) -> Path:
    """Write a worker that knows nothing but what it restored."""
    program = folder / "datamill-worker"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(RESTORED)}\nEND\nexit 1\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Run commands in an empty folder, with a fleet, a worker and a machine that are played."""
    monkeypatch.chdir(tmp_path)
    noise = NoiseFacts(10**9, (ProcessorNoise(0, True, (9, 9), 10**9, 3, 0, 0, (5,)),), DisturbanceFacts())
    program = _write_worker(tmp_path)
    verbs = ("workers", "trials", "queue", "submit", "fetch")
    members = ("notices", "keys", "quotas", "users", "storage", "retention", "backup")
    modules = (
        *(f"fleet.{verb}" for verb in verbs),
        *(f"members.{verb}" for verb in members),
        *(f"published.{verb}" for verb in ("publish", "publications", "rerun")),
        "machine.factors",
        "platforms.fleet.scores",
    )
    for module in modules:
        monkeypatch.setattr(f"datamill.cli.{module}.connect", lambda *_: Coordinator())
    check = "datamill.conduct.check_experiment"
    for module in ("cli.machine.factors", "cli.machine.worker", "cli.timing.tell_timing", "cli.timing.gate"):
        monkeypatch.setattr(f"datamill.{module}.find_worker", lambda: program)
    monkeypatch.setattr(f"{check}.find_worker", lambda: program)
    for module in ("machine.factors", "machine.worker"):
        monkeypatch.setattr(f"datamill.cli.{module}.read_offers", _offer)
    for module in ("datamill.cli.machine.worker", check):
        monkeypatch.setattr(f"{module}.read_host_facts", lambda _: HOST)
    monkeypatch.setattr("datamill.cli.machine.worker.lock_host", _lock)
    monkeypatch.setattr("datamill.cli.machine.worker.ask_worker", lambda *_: msgspec.json.encode(noise))
    monkeypatch.setattr("datamill.cli.fleet.fetch.take_home", _take_home)
    monkeypatch.setattr("datamill.cli.fleet.fetch_tables.keep_part", lambda _, manifest, *__: manifest)
    monkeypatch.setattr("datamill.cli.timing.tell_timing.time_commands", _time_commands)
    monkeypatch.setattr("datamill.conduct.gate.conduct_gate.conduct_gate", _conduct_gate)
    monkeypatch.setattr("datamill.cli.machine.doctor._ask", lambda: (Finding("load", "offered", "quiet"),))
    monkeypatch.setattr(f"{check}.ask_host", lambda found, *_: found)
    monkeypatch.setattr(f"{check}.list_unseen_values", lambda *_: ())
    monkeypatch.setattr(f"{check}.estimate_time", lambda *_: None)
    monkeypatch.setattr("datamill.cli.selection.functions.read_program", _read_program)
    monkeypatch.setattr("datamill.cli.selection.profile.read_program", _read_program)
    monkeypatch.setattr(
        "datamill.cli.selection.profile.profile_command", lambda *_: make_profile(work=(1, 9))
    )
    history = "datamill.cli.selection.history"
    for verb, name, answer in (
        ("init", "begin_settings", selection_answers.begin_settings),
        ("collect", "collect_history", selection_answers.collect),
        ("train", "train_model", selection_answers.train),
        ("explain", "predict_revision", selection_answers.predict),
        ("evaluate", "evaluate_store", selection_answers.evaluate),
        ("bisect", "bisect_change", selection_answers.bisect),
    ):
        monkeypatch.setattr(f"{history}.{verb}.{name}", answer)
        if verb != "init":
            monkeypatch.setattr(f"{history}.{verb}.find_project", selection_answers.find_project)
    monkeypatch.setattr(f"{history}.predict.find_project", selection_answers.find_project)
    monkeypatch.setattr(
        "datamill.conduct.selection.deciding.predict_revision.predict_revision", selection_answers.predict
    )
    shutil.copy(FOREIGN / "pyperf.json", "pyperf.json")
    assert CliRunner().invoke(datamill, ["new", "sorting"]).exit_code == 0
    return lambda *arguments: CliRunner().invoke(datamill, [*arguments, "--json"])


def _read_program(path: Path) -> FunctionTable:
    """A program with one function and one table, which differ by the file."""
    data = DataObject("table", path.name, 8)
    return make_table(make_function("work", path.name), data=(data,))


def _time_commands(question: TimingQuestion, *_: object) -> TimedCommands:
    """Two commands that were timed, one of which took twice as long."""
    experiment = parse_experiment(write_experiment_text(question), name="experiment.toml")
    values = np.random.default_rng(1).normal([1.0, 2.0], 0.01, (20, 2))
    rounds = Rounds(tuple(item.name for item in experiment.packages), tuple(range(20)), values)
    decision, pairs = decide_timing(experiment, rounds, look=1, trials=40, elapsed_s=60.0)
    bundle: Any = SimpleNamespace(experiment=experiment, folder=Path("bundle"))
    return TimedCommands(question, bundle, decision, pairs, {}, ("this machine is busy",), 60.0)


def _conduct_gate(gate: Gate, *_: object) -> GateOutcome:
    """A benchmark that became slower by a tenth, another that broke, and a new one."""
    values = np.random.default_rng(1).normal([1.0, 1.1], 0.01, (20, 2))
    rounds = {"a": Rounds((BASE, HEAD), tuple(range(20)), values, executions=2)}
    found = find_all_slowdowns(rounds, alpha=0.05, tolerate=0.0)
    return GateOutcome(
        gate=gate,
        base=GitTree("main", "1" * 40, "2" * 40),
        head=GitTree("HEAD", "3" * 40, "4" * 40),
        verdicts=judge_benchmarks(rounds, alpha=0.05, limit=0.01, tolerate=0.0),
        rounds=rounds,
        found=found,
        power=average_power(found),
        broken=("b worked before, and ended with status 1",),
        added=("c",),
        warnings=("this machine is busy",),
        host=HOST,
        sweeps=20,
        measured_s=60.0,
        varies=True,
        interrupted=False,
    )


#: What each verb is asked, and its exit status; after its name, what gives its JSON other keys.
ASKED: dict[str, tuple[tuple[str, ...], int]] = {
    "backup": (("backup",), 0),
    "check": (("check", "sorting"), 0),
    "doctor": (("doctor",), 0),
    "factors": (("factors",), 0),
    "factors --allow": (("factors", "--allow", "swap"), 0),
    "factors --fleet": (("factors", "--fleet"), 0),
    "factors --fleet --name": (("factors", "--fleet", "--name", "swap"), 0),
    "factors --forbid": (("factors", "--forbid", "swap", "--reason", "slow"), 0),
    "factors --register": (("factors", "--register", str(ROOT / "packages" / "factors" / "swappiness")), 0),
    "fetch": (("fetch", "7"), 2),
    "fetch --tables": (("fetch", "--tables", "tables"), 0),
    "gate": (("gate", "--out", "out", "a"), 1),
    "import": (("import", "pyperf.json", "--out", "table.csv"), 0),
    "keys": (("keys",), 0),
    "notices": (("notices",), 0),
    "packages": (("packages", "xz"), 0),
    "platforms scores": (("platforms", "scores"), 0),
    "publications": (("publications",), 0),
    "publications KEY": (("publications", "0123456789ab"), 0),
    "publish": (("publish", "7", "--author", "Doe, Jane", "--yes"), 0),
    "queue": (("queue",), 0),
    "quotas": (("quotas",), 0),
    "rerun": (("rerun", "7", "--yes"), 0),
    "rerun --verdicts": (("rerun", "7", "--verdicts"), 0),
    "retention": (("retention", "--uploads", "30", "--yes"), 0),
    "selection bisect": (("selection", "bisect", "bench", "old"), 0),
    "selection collect": (("selection", "collect"), 0),
    "selection evaluate": (("selection", "evaluate"), 0),
    "selection explain": (("selection", "explain", "HEAD"), 0),
    "selection functions": (("selection", "functions", "old", "new"), 0),
    "selection init": (("selection", "init"), 0),
    "selection predict": (("selection", "predict", "HEAD"), 0),
    "selection profile": (("selection", "profile", "old", "old"), 0),
    "selection train": (("selection", "train"), 0),
    "storage": (("storage",), 0),
    "submit": (("submit", "sorting", "--yes"), 0),
    "time": (("time", "a", "b"), 0),
    "trials": (("trials", "7"), 0),
    "users": (("users",), 0),
    "worker inventory": (("worker", "inventory"), 0),
    "worker noise": (("worker", "noise"), 0),
    "worker restore": (("worker", "restore"), 1),
    "workers": (("workers",), 0),
}


@pytest.mark.parametrize("verb", ASKED)
def test_keys_of_the_commands_are_those_that_scripts_know(verb: str, run: Callable[..., Result]) -> None:
    arguments, status = ASKED[verb]
    result = run(*arguments)
    assert result.exit_code == status, result.output
    content = json.loads(result.stdout)
    assert (list(content)[:2], list(content)[-1]) == (["schema", "answer"], "warnings")
    for sentence in (*content["answer"], *content["warnings"]):
        assert sentence.endswith(".")
    assert content["schema"] == FROZEN[verb]["schema"]
    # Names that stand for what was measured are keys, too: of factors, dimensions, packages.
    assert sorted(list_keys(content)) == FROZEN[verb]["keys"]


#: Verbs whose JSON Python has too, and their entries among the keys of reports.
IN_PYTHON = {
    **{
        name: name
        for name in (
            *("anova", "compare", "hardware", "plan", "predict", "quantiles", "report", "reproduce"),
            *("summary", "tests", "variability", "variance"),
        )
    },
    "allocators analyze": "analyze_allocations",
    "platforms choose": "choose_machines",
    "platforms evaluate": "evaluate_platforms",
    "platforms fit": "fit_platforms",
    "platforms predict": "predict_platforms",
    "platforms rank": "rank_machines",
}


def test_every_command_that_prints_json_is_frozen() -> None:
    found = {verb.removeprefix("analyze ") for verb in _list_json_verbs(datamill)}
    asked = {re.split(" (?=--|[A-Z])", verb)[0] for verb in ASKED}
    assert found == asked | set(IN_PYTHON)
    assert not asked & set(IN_PYTHON)
    assert set(ASKED) == set(FROZEN)


def test_every_verb_that_python_has_is_frozen_among_the_reports() -> None:
    assert set(IN_PYTHON.values()) <= set(json.loads(IN_REPORTS.read_text()))


def _list_json_verbs(group: click.Group, above: str = "") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        # Not `allocators trace`, whose output is the program's: tests/unit/report/allocators has its keys.
        if any(
            "--json" in parameter.opts and getattr(parameter, "is_flag", False)
            for parameter in command.params
        ):
            yield f"{above}{name}"
        if isinstance(command, click.Group):
            yield from _list_json_verbs(command, f"{above}{name} ")


def test_a_bundle_without_trials_that_ended_says_so_in_json(run: Callable[..., Result]) -> None:
    told = json.loads(run("fetch", "7").stdout)
    assert told["answer"] == ["loops: 0 of 4 trials counted, in loops-7/."]
    assert told["bundle"]["report"] is None
    assert told["warnings"] == [
        "The experiment is still running: this is what there is by now.",
        "q1/run.out is no longer there.",
        "No trial of its design has ended, so there is no answer.",
    ]


def test_what_could_not_be_undone_is_a_warning(run: Callable[..., Result]) -> None:
    told = json.loads(run("worker", "restore").stdout)
    assert told["answer"] == ["The journal is empty; what was given up is still as it was."]
    assert told["warnings"] == [
        "boost cannot be set.",
        "A line cannot be understood.",
        "irq balance stays off.",
    ]


def test_a_checked_design_has_its_size_and_its_factors(run: Callable[..., Result]) -> None:
    told = json.loads(run("check", "sorting").stdout)
    design = told["design"]
    assert told["answer"] == ["sorting/experiment.toml is sound."]
    assert design["trials"] == design["points"] * 5
    assert {factor["name"] for factor in design["factors"] if factor["role"] == "factor"} >= {"package"}
