"""The experiment file that `datamill new --command` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.experiment.new import new
from datamill.conduct.question.read_files import read_experiment_file
from datamill.experiment.errors import InputError
from datamill.experiment.file.fields import NAME
from datamill.experiment.file.packages.write_commands import derive_names, write_command_file
from datamill.experiment.file.parse import parse_experiment

COMMANDS = ("gzip -9 f", "gzip 9 f", "gzip -9 f", "./prog 'a b'", "|||", "x" * 100, "ü", 'a\n"b" $c\\d')


def test_names_are_the_words_of_commands_and_none_comes_twice() -> None:
    names = derive_names(COMMANDS)
    assert names[:6] == ("gzip-9-f", "gzip-9-f-2", "gzip-9-f-3", "prog-a-b", "command", "x" * 40)
    assert len(set(names)) == len(names)
    assert all(NAME.fullmatch(name) for name in names)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_file_says_the_commands_as_they_were_typed(count: int) -> None:
    commands = ("true", *COMMANDS[:4], *COMMANDS[5:])[:count]
    experiment = parse_experiment(write_command_file("e", commands, ".."), name="e.toml")
    assert [item.command.text for item in experiment.packages if item.command] == list(commands)
    assert experiment.until is not None
    assert (experiment.until.detect is not None) == (count == 2)


def test_commands_run_where_they_were_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(new, ["deep/cmp", "--command", "true", "--command", "sleep 1"])
    assert made.exit_code == 0, made.output
    found = read_experiment_file(tmp_path / "deep" / "cmp")
    assert [item.needs.folders for item in found.experiment.packages] == [(str(tmp_path),)] * 2


def test_commands_typed_at_home_run_without_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    CliRunner().invoke(new, ["cmp", "--command", "true"])
    assert 'directory = ""' in (tmp_path / "cmp" / "experiment.toml").read_text()


@pytest.mark.parametrize(
    "arguments", [["--command", "it's"], ["--command", ""], ["--command", "a", "--from", "xz"]]
)
def test_what_cannot_be_an_experiment_of_commands_leaves_nothing(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(new, ["cmp", *arguments])
    assert isinstance(made.exception, InputError)
    assert re.search(r"quotes|must be a command|goes with neither", str(made.exception))
    assert not (tmp_path / "cmp").exists()
