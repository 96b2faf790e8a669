"""Factors that an experiment file describes: a variable of run.sh, or a part of commands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from datamill.conduct.question.read_files import read_experiment_file
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import CommandSource, Experiment, Sweep
from datamill.experiment.file.parse import parse_experiment
from datamill.packing.command_packages import write_command_package
from datamill.packing.made_factors.sweep_factors import write_sweep_factor
from datamill.packing.user_factors import read_user_factor

HEAD = '[experiment]\nname = "e"\n[[package]]\nname = "a"\ncommand = "gzip -{level} f"\ndirectory = ""\n'


def parse(text: str) -> Experiment:
    return parse_experiment(HEAD + text, name="e.toml")


def refuse(text: str) -> str:
    with pytest.raises(InputError) as refused:
        parse(text)
    return str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        '[factors.level]\nargument = "{level}"\nlevels = [1, 3.5, "-9 x"]\n',
        '[factors]\nlevel = { argument = "{level}", levels = [1, 3.5, "-9 x"] }\n',
    ],
)
def test_an_argument_is_a_factor_whose_levels_stand_in_commands(text: str) -> None:
    experiment = parse(text)
    assert experiment.sweeps == (Sweep("level", "DATAMILL_ARGUMENT_level", "{level}", ("1", "3.5", "-9 x")),)
    (choice,) = experiment.factors
    assert (choice.name, choice.levels) == ("level", ("1", "3.5", "-9 x"))
    command = experiment.packages[0].command
    assert command is not None
    assert command.arguments == (("{level}", "DATAMILL_ARGUMENT_level"),)


def test_a_variable_is_a_factor_whose_levels_it_has() -> None:
    experiment = parse('[factors.level]\nenv = "LEVEL"\nlevels = [1, 3]\n')
    assert experiment.sweeps == (Sweep("level", "LEVEL", "", ("1", "3")),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("levels = [1]", "does not say what it sets"),
        ('env = "A"\nargument = "{level}"\nlevels = [1]', "e.toml:8: [factors.level] env"),
        ('env = "A B"\nlevels = [1]', "must name a variable"),
        ('env = "DATAMILL_X"\nlevels = [1]', "datamill's own"),
        ('env = "PADa"\nlevels = [1]', "datamill's own"),
        ('argument = "level"\nlevels = [1]', "a name in braces"),
        ('argument = "{other}"\nlevels = [1]', "{other} of factor"),
        ('env = "A"', "has no levels"),
        ('env = "A"\nlevels = []', "has no levels"),
        ('env = "A"\nlevels = [1, "1"]', "named twice"),
        ('env = "A"\nlevels = [true]', "must be a text or a number"),
        ('env = "A"\nlevels = ["a\\nb"]', "cannot have the level"),
        ('env = "A"\nlevels = [" a"]', "cannot have the level"),
        ('env = "A"\nlevels = [""]', "cannot have the level"),
        ('env = "A"\nlevles = [1]', 'Did you mean "levels"?'),
        ('env = "A"\nlevels = [1]\n[factors.two]\nenv = "A"\nlevels = [2]', "set the same, A"),
        (
            'argument = "{level}"\nlevels = [1]\n[factors.two]\nargument = "{level}"\nlevels = [2]',
            "set the same",
        ),
    ],
)
def test_what_is_wrong_with_a_sweep_is_said(text: str, words: str) -> None:
    told = refuse(f"[factors.level]\n{text}\n")
    assert words in told
    assert "e.toml:" in told


def test_all_mistakes_of_sweeps_are_told_at_once() -> None:
    told = refuse('[factors.Level]\nenv = 3\nlevels = [true]\n[factors.aslr]\nenv = "A"\nlevels = ["on"]\n')
    for line in (7, 8, 9, 10):
        assert f"e.toml:{line}:" in told


LEVELS = ("1", "it's", '"', "$HOME", "$(touch pwned)", "`touch pwned`", "a b", "back\\slash", "-n", "%s", "*")


@pytest.mark.parametrize("level", LEVELS)
def test_the_verbs_of_a_sweep_set_and_tell_the_level_as_it_is(level: str, tmp_path: Path) -> None:
    folder = tmp_path / "factor"
    write_sweep_factor(folder, Sweep("level", "LEVEL", "", (level, "other")))
    assert read_user_factor(folder).name == "level"

    def call(verb: str, *arguments: str, **variables: str) -> str:
        done = subprocess.run(
            [folder / verb, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=variables,
            cwd=tmp_path,
        )
        return done.stdout

    assert call("levels") == f"{level}\nother\n"
    assert call("set", level) == f"LEVEL={level}\n"
    assert call("verify", LEVEL=level) == f"{level}\n"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_a_part_of_its_word_whatever_is_in_it(level: str, tmp_path: Path) -> None:
    command = CommandSource(
        "/usr/bin/printf '<%s>' --x={level}{level} '{other}'", "", None, (("{level}", "V"),)
    )
    write_command_package(tmp_path / "package", command, None)
    done = subprocess.run(
        ["./run.sh"], cwd=tmp_path / "package", capture_output=True, text=True, check=True, env={"V": level}
    )
    assert done.stdout == f"<--x={level}{level}><{{other}}>"
    assert not list(tmp_path.rglob("pwned"))


def test_a_level_is_text_of_a_command_that_a_shell_runs(tmp_path: Path) -> None:
    command = CommandSource("printf '%s;' {level} | cat", "", None, (("{level}", "V"),))
    write_command_package(tmp_path, command, None)
    done = subprocess.run(
        ["./run.sh"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"V": "a 'b c'", "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout == "a;b c;"


def test_an_experiment_brings_along_the_factors_that_it_describes(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(HEAD + '[factors.level]\nargument = "{level}"\nlevels = [1, 3]\n')
    found = read_experiment_file(file)
    assert [factor.name for factor in found.user_factors] == ["level"]
    assert '"$DATAMILL_ARGUMENT_level"' in (found.packages[0].path / "run.sh").read_text()


def test_folders_of_a_library_are_levels_by_their_names_or_by_names_of_their_own() -> None:
    (listed,) = parse('[factors.foo]\nlibrary = ["system", "./libfoo-1.2"]\nprogram = "app"\n').sweeps
    assert (listed.levels, listed.libraries) == (("system", "libfoo-1.2"), ("", "./libfoo-1.2"))
    assert (listed.variable, listed.program) == ("LD_LIBRARY_PATH", "app")
    (named,) = parse('[factors.foo]\nlibrary = { old = "a/foo", new = "b/foo" }\nlevels = ["new"]\n').sweeps
    assert (named.levels, named.libraries) == (("new",), ("b/foo",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('library = ["a/foo", "b/foo"]', 'has two libraries called "foo"'),
        ("library = [1]", "has no folders of libraries"),
        ('library = ["a b"]', "cannot have the level"),
        ('library = { old = "a", new = "b" }\nlevels = ["od"]', 'Did you mean "old"?'),
        ('library = ["a"]\nprogram = "x; y"', "program must be a file"),
        ('library = ["a"]\nenv = "A"', 'unknown key "env"'),
    ],
)
def test_a_library_that_cannot_be_is_refused_with_its_line(text: str, words: str) -> None:
    refused = refuse(f"[factors.foo]\n{text}\n")
    assert words in refused
    assert "e.toml:" in refused


def test_two_factors_of_libraries_would_set_the_same() -> None:
    refused = refuse('[factors.foo]\nlibrary = ["a"]\n[factors.bar]\nlibrary = ["b"]\n')
    assert "Put the libraries of a level into one folder." in refused
