"""The answer of a bundle: one and the same on the terminal, on the page, as JSON and in Python."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

from acceptance.conftest import Command

import datamill as library

TEXT = """
[experiment]
name = "levels"
question = "Does niceness matter?"
replicates = 3
seed = 3

[[package]]
name = "a"
path = "a"

[factors]
niceness = [0, 5]

[responses.wall_time]
formula = "wall_time_s"
unit = "s"
direction = "lower"
"""
RUN = "#!/bin/sh\nsleep 0.0$((20 + $$ % 7))\n"


def test_terminal_page_json_and_python_say_the_same(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=TEXT, packages=("a",), run=RUN)
    run = datamill("run", "experiment.toml", "--out", "out")
    assert run.returncode == 0, run.stdout + run.stderr
    printed = datamill("report", "out", "--json")
    assert printed.returncode == 0, printed.stderr
    answered = library.answer(datamill.folder / "out")
    assert printed.stdout.rstrip("\n") == answered.json()
    content = json.loads(printed.stdout)
    page = html.unescape((datamill.folder / "out" / "report.html").read_text(encoding="utf-8"))
    for sentence in (*content["answer"], *content["mattered"]):
        assert sentence in run.stdout
        assert sentence in page
        assert sentence in str(answered)


def test_what_is_no_bundle_is_refused(datamill: Command, tmp_path: Path) -> None:
    result = datamill("report", str(tmp_path / "nowhere"), "--json")
    assert result.returncode == 2
    assert result.stdout == ""
    assert "nowhere" in result.stderr
