"""What the pages show runs as it stands there: Python, commands on tables and bundles, experiment files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from faces.documents import Block, Shown, list_blocks, list_commands
from made.synthetic import fit_record, make_bundle_folder, make_phase, make_record

import datamill
from datamill.cli.main import main
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.toml_text import format_toml
from datamill.experiment.gate.gate_file import parse_gate
from datamill.protocol.trial import BuildFacts, CompilerFacts
from datamill.results.foreign.recognise import FORMATS
from datamill.selection.history.settings import parse_settings

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
PILOT = """
[experiment]
name = "pilot"
seed = 7
[replication]
builds = 6
executions = 3
measurements = 20
warmup = 5
[[package]]
name = "gcc-12"
path = "a"
[[package]]
name = "gcc-13"
path = "b"
[responses.op]
unit = "ms"
formula = "op_ms"
direction = "lower"
"""
#: What an experiment file has at least, for pages that show a part of one.
LEAST: dict[str, Any] = {
    "experiment": {"name": "shown", "question": "Which?", "replicates": 2, "seed": 1},
    "package": [{"name": "xz", "path": "xz"}, {"name": "bzip2", "path": "bzip2"}],
}


@pytest.fixture(scope="module")
def shown_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("shown")
    make_pilot(folder / "my-bundle")
    for name, versions in (("pilot", 1), ("old", 1), ("new", 1), ("table", 1)):
        draw_measurements(versions).write_csv(folder / f"{name}.csv")
    nightly = draw_measurements(6)
    nightly.write_csv(folder / "nightly.csv")
    return folder


def draw_measurements(versions: int) -> pl.DataFrame:
    random = np.random.default_rng(versions)
    rows = [
        (f"v{version}", f"v{version}", build, execution, measurement, value, value, "ms")
        for version in range(versions)
        for build, own in enumerate(random.normal(10, 0.2, 10))
        for execution in range(4)
        for measurement, value in enumerate(random.normal(own, 0.4, 12))
    ]
    names = ["version", "commit", "build", "execution", "measurement", "value", "seconds", "unit"]
    return pl.DataFrame(rows, schema=names, orient="row")


def make_pilot(folder: Path) -> None:
    """A bundle of two versions: six builds of each, three executions of a build."""
    made = make_bundle_folder(folder, PILOT)
    random = np.random.default_rng(5)
    compiler = CompilerFacts(1, 1, {"-O2": 1}, 1, 1, 1, 0, 1, {"gcc": 1}, 0)
    levels = {(package, build): random.normal(10, 0.3) for package in "ab" for build in range(1, 7)}
    records = []
    for number, trial in enumerate(made.design.trials):
        taken = max(1, trial.measurements + trial.warmup)
        values = levels["ab"[trial.package == "gcc-13"], trial.build] + random.normal(0, 0.3, taken)
        begun = START + number * 10 * SECOND
        records.append(
            make_record(
                trial.trial_id,
                started_unix_ns=begun,
                ended_unix_ns=begun + SECOND,
                run=make_phase(SECOND // 2 + taken * SECOND // 100),
                build=BuildFacts(
                    f"{trial.package}-{trial.build}", "shared", True, make_phase(4 * SECOND), compiler
                ),
                factors=(),
                metrics={"op_ms": tuple(values.tolist())},
            )
        )
    made.append_records([fit_record(record, made) for record in records])
    made.write_table(made.read_records())


@pytest.mark.parametrize("block", list_blocks("python"), ids=str)
def test_python_that_a_page_shows_runs(
    block: Block, shown_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shown_files)
    frame = draw_measurements(1)
    if "latency_us" in block.text:
        random = np.random.default_rng(1)
        frame = pl.DataFrame(
            {
                "sched": ["fifo", "other"] * 400,
                "machine": ["amber"] * 400 + ["beryl"] * 400,
                "latency_us": random.gamma(3, 10, 800),
            }
        )
    given = {"datamill": datamill, "frame": frame, "old": draw_measurements(1), "new": draw_measurements(1)}
    exec(compile(block.text, str(block), "exec"), given)
    if "page.html" in block.text:
        assert "<svg" in Path("page.html").read_text()
    if "answered" in given:
        assert "gcc-13" in str(given["answered"])


def runs_on_files(shown: Shown) -> bool:
    """Whether a command is shown whole, and works on the files of this test."""
    is_sentence = ":" not in shown.place
    return not is_sentence and re.search(r"[A-Z]{3,}|postgres", shown.text) is None and (
        shown.words[0] in ("compare", "plan", "analyze")
    )  # fmt: skip


@pytest.mark.parametrize("shown", [item for item in list_commands() if runs_on_files(item)], ids=str)
def test_a_command_that_a_page_shows_answers(
    shown: Shown, shown_files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shown_files)
    with pytest.raises(SystemExit) as ended:
        main(shown.words)
    told = capsys.readouterr()
    # Of `--check` 1 is an answer, too.
    assert ended.value.code in ((0, 1) if "--check" in shown.words else (0, None)), told.err
    assert told.out.strip()


def complete(block: Block) -> str:
    """The experiment file of which a page shows a part."""
    tables = tomllib.loads(block.text)
    shown = tables.get("experiment", {})
    head = {**LEAST["experiment"], **shown}
    if "replicates" not in shown and "replication" in tables:
        # It says itself how often.
        del head["replicates"]
    return format_toml({**LEAST, **tables, "experiment": head})


@pytest.mark.parametrize(
    "block", [block for block in list_blocks("toml") if block.page == "docs/howto/selection.md"], ids=str
)
def test_settings_of_the_selection_that_a_page_shows_are_such(block: Block) -> None:
    least = 'binaries = ["a"]\n[[build]]\ncommand = "make"\n[[benchmark]]\nname = "b"\ncommand = "./a"\n'
    shown = block.text if "[[benchmark]]" in block.text else least + block.text
    assert parse_settings(shown).benchmark


@pytest.mark.parametrize(
    "block",
    [
        block
        for block in list_blocks("toml")
        if block.page not in ("docs/howto/workers.md", "docs/howto/gate.md", "docs/howto/selection.md")
    ],
    ids=str,
)
def test_an_experiment_file_that_a_page_shows_is_one(block: Block) -> None:
    assert parse_experiment(complete(block), name=str(block)).packages


@pytest.mark.parametrize(
    "block", [block for block in list_blocks("toml") if block.page == "docs/howto/gate.md"], ids=str
)
def test_a_file_of_a_gate_that_the_page_shows_is_one(block: Block) -> None:
    assert parse_gate(block.text, name=str(block), tools=[item.name for item in FORMATS]).benchmarks
