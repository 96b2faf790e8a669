"""Packages that an experiment file gives as commands: what is read, refused, and written into bundles."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from datamill.conduct.question.made_packages import make_packages
from datamill.conduct.question.read_files import read_experiment_file
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import CommandSource
from datamill.experiment.file.packages.pin_text import Pin, pin_values
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source

HEAD = '[experiment]\nname = "e"\n'


def parse(*lines: str) -> CommandSource | None:
    text = HEAD + '[[package]]\nname = "a"\n' + "\n".join(lines)
    return parse_experiment(text, name="e.toml").packages[0].command


def refuse(*lines: str) -> str:
    with pytest.raises(InputError) as refused:
        parse(*lines)
    return str(refused.value)


def test_a_command_is_read_with_its_directory_and_shell() -> None:
    assert parse('command = "gzip -9 f"') == CommandSource("gzip -9 f", ".", None)
    given = parse('command = "gzip -9 f"', 'directory = "data"', "shell = true")
    assert given == CommandSource("gzip -9 f", "data", True)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['command = "a"', 'path = "b"'], "e.toml:5: [package] command: package"),
        (['path = "b"', "shell = true"], "e.toml:6: [package] shell: shell says how a command runs"),
        (['command = ""'], "command must be a command line"),
        (["command = 5"], "command must be a command line"),
        (['command = "it\'s"'], "the quotes of the command do not match"),
        (['command = "-x"'], "does not begin with a program"),
        (['command = "-x | a"'], "does not begin with a program"),
        (["command = \"'' x\""], "does not begin with a program"),
        (['command = "a\\u0000"'], "NUL"),
        (['command = "a"', "directory = 3"], "e.toml:6: [package] directory"),
        (['command = "a"', 'shell = "sh"'], "e.toml:6: [package] shell"),
        (['comand = "a"'], 'Did you mean "command"?'),
    ],
)
def test_what_is_wrong_with_a_command_is_said_with_its_line(lines: list[str], words: str) -> None:
    assert words in refuse(*lines)


def test_all_mistakes_of_a_command_are_told_at_once() -> None:
    told = refuse('command = ""', "directory = 3", "shell = 4", "network = 5")
    for line in (5, 6, 7, 8):
        assert f"e.toml:{line}:" in told


def test_a_guest_sees_no_folder_so_a_command_for_it_must_need_none() -> None:
    text = HEAD + 'isolation = "guest"\n[[package]]\nname = "a"\ncommand = "sleep 1"\n'
    with pytest.raises(InputError, match='directory = ""'):
        parse_experiment(text, name="e.toml")
    parse_experiment(text + 'directory = ""\n', name="e.toml")


def test_the_folder_of_a_command_is_found_from_the_experiment_file_and_shown(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "e.toml"
    file.write_text(
        HEAD + '# kept\n[[package]]\nname = "a"\ncommand = "true"\ndirectory = "data"  # here\n'
        '[[package]]\nname = "b"\ncommand = "true"\n'
        '[[package]]\nname = "c"\ncommand = "true"\ndirectory = ""\n'
    )
    found = read_experiment_file(file)
    assert [item.needs.folders for item in found.experiment.packages] == [
        (str(tmp_path / "data"),),
        (str(tmp_path),),
        (),
    ]
    assert "# kept" in found.text
    again = parse_experiment(found.text, name="bundle")
    assert again.packages == found.experiment.packages
    assert all((facts.path / "run.sh").is_file() for facts in found.packages)


def test_the_folders_that_were_written_go_with_the_experiment(tmp_path: Path) -> None:
    experiment = parse_experiment(HEAD + '[[package]]\nname = "a"\ncommand = "true"\n', name="e")
    made = make_packages(
        experiment, Source("e", HEAD + '[[package]]\nname = "a"\ncommand = "true"\n'), tmp_path
    )
    folder = made.folders["package", 0]
    assert folder.is_dir()
    del made
    assert not folder.exists()


def test_a_folder_and_a_program_that_are_missing_are_told_together(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        HEAD + '[[package]]\nname = "a"\ncommand = "true"\ndirectory = "gone"\n'
        '[[package]]\nname = "b"\ncommand = "no-such-program 1"\n'
        '[[package]]\nname = "c"\ncommand = "./gone.sh"\n'
        '[[package]]\nname = "d"\npath = "gone"\n'
    )
    with pytest.raises(InputError) as refused:
        read_experiment_file(file)
    for line in (6, 9, 12):
        assert f"e.toml:{line}:" in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        'package = [{ name = "a", command = "b" }]\n[experiment]\nname = "e"\n',
        '[experiment]\nname = "e"\n[[package]]\nname = "a"\ncommand = "b"\n"directory" = """\n."""\n',
        '[experiment]\nname = """\n[[package]]\n"""\n[[package]]\nname = "a"\ncommand = "b"\n',
    ],
)
def test_a_value_is_written_into_a_file_however_that_is_written(text: str) -> None:
    expected = tomllib.loads(text)
    expected["package"][0]["directory"] = '/a "b"\\c\n'
    told = pin_values(Source("e", text), [Pin("package", 0, "directory", '/a "b"\\c\n')])
    assert tomllib.loads(told) == expected
