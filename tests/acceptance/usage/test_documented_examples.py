"""What the pages show runs as it stands there: Python, and files of experiments, gates and settings."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from acceptance.conftest import Command
from acceptance.usage.shown_files import draw_latencies, draw_measurements, make_pilot, write_fleet_tables
from faces.documents import Block, list_blocks

import datamill
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.toml_text import format_toml
from datamill.experiment.gate.gate_file import parse_gate
from datamill.results.foreign.recognise import FORMATS
from datamill.selection.history.settings import parse_settings

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
    write_fleet_tables(folder / "DIR")
    for name, versions in (("pilot", 1), ("old", 1), ("new", 1), ("table", 1), ("nightly", 6)):
        draw_measurements(versions).write_csv(folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("block", list_blocks("python"), ids=str)
def test_python_that_a_page_shows_runs(
    block: Block, shown_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "ctypes" in block.text:
        # It calls the tracer, which is there where the interpreter is traced.
        traced = Command(shown_files)(
            "allocators", "trace", "--quiet", "--", sys.executable, "-c", block.text
        )
        assert traced.returncode == 0, traced.stderr
        return
    monkeypatch.chdir(shown_files)
    frame = draw_measurements(1)
    if "latency_us" in block.text:
        frame = draw_latencies()
    given = {
        "datamill": datamill,
        "frame": frame,
        "main": lambda: None,
        "old": draw_measurements(1),
        "new": draw_measurements(1),
    }
    exec(compile(block.text, str(block), "exec"), given)
    if "page.html" in block.text:
        assert "<svg" in Path("page.html").read_text()
    if "answered" in given:
        assert "gcc-13" in str(given["answered"])


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
