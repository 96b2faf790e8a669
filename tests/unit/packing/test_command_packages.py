"""Packages that are one command line: the folders that are written of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from datamill.experiment.command_words import split_command
from datamill.experiment.experiment import CommandSource, Limits
from datamill.packing.command_packages import write_command_package
from datamill.packing.members import pack_members
from datamill.packing.packages import inspect_package

HOSTILE = (
    "it's",
    'a "quoted" word',
    "two\nlines",
    "$HOME",
    "$(touch pwned)",
    "`touch pwned`",
    "back\\slash",
    "a;touch pwned",
    "*",
    "~",
    "-n",
    "",
    "ü\udce9",
    "{level}",
)


def run_package(folder: Path) -> str:
    done = subprocess.run(["./run.sh"], cwd=folder, capture_output=True, check=True)
    return os.fsdecode(done.stdout)


def quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("shell", [True, False, None])
def test_a_word_arrives_as_it_was_quoted_with_and_without_a_shell(
    word: str, shell: bool | None, tmp_path: Path
) -> None:
    command = CommandSource(f"/usr/bin/printf '<%s>' {quote(word)} end", "", shell)
    write_command_package(tmp_path / "package", command, None)
    assert run_package(tmp_path / "package") == f"<{word}><end>"
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("name", ["it's", "$x", "a\nb", "back\\slash", "-L", 'q"', " space "])
def test_a_command_runs_in_its_directory_whatever_that_is_called(name: str, tmp_path: Path) -> None:
    directory = tmp_path / name
    directory.mkdir()
    (directory / "file").write_text("content")
    package = tmp_path / "package"
    write_command_package(package, CommandSource("cat file"), directory, changes_allowed=True)
    assert run_package(package) == "content"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gzip -9 -k -c f", ("gzip", "-9", "-k", "-c", "f")),
        ("awk '{print $1}' f", ("awk", "{print $1}", "f")),
        ('printf "%s" a\\ b', ("printf", "%s", "a b")),
        ("prog --level={level}", ("prog", "--level={level}")),
        ("  sleep\t1 ", ("sleep", "1")),
    ],
)
def test_a_command_without_shell_syntax_is_executed_without_a_shell(
    text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    assert split_command(CommandSource(text)) == words
    write_command_package(tmp_path, CommandSource(text), None)
    assert "/bin/sh -c" not in (tmp_path / "run.sh").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "a > f",
        "a; b",
        "a && b",
        "a $HOME",
        'a "$HOME"',
        'a "`b`"',
        "a *.c",
        "A=1 b",
        "cd x",
        "a\nb",
        "a ~",
    ],
)
def test_a_command_with_shell_syntax_is_given_to_a_shell(text: str) -> None:
    assert split_command(CommandSource(text)) is None
    assert split_command(CommandSource(text, shell=False)) is not None


def test_the_same_command_has_the_same_archive(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        write_command_package(tmp_path / name, CommandSource("gzip -9 f"), Path("/srv/data"))
        digests.add(pack_members(tmp_path / name, tmp_path / f"{name}.tar.gz").sha256)
    assert len(digests) == 1


def test_a_command_package_is_a_package_like_any_other(tmp_path: Path) -> None:
    write_command_package(tmp_path / "package", CommandSource("gzip -9 f"), Path("/srv/data"))
    facts = inspect_package("a", tmp_path / "package", Limits())
    assert not facts.has_setup
    assert not facts.has_collect


def test_without_a_private_world_a_command_does_not_start_unless_it_may_change_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    write_command_package(tmp_path / "package", CommandSource("rm file"), tmp_path)
    done = subprocess.run(["./run.sh"], cwd=tmp_path / "package", capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert 'isolation = "plain"' in done.stderr
    assert (tmp_path / "file").exists()


def test_a_command_whose_directory_is_gone_does_not_run_elsewhere(tmp_path: Path) -> None:
    package = tmp_path / "package"
    write_command_package(package, CommandSource("echo ran"), tmp_path / "gone", changes_allowed=True)
    done = subprocess.run(["./run.sh"], cwd=package, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (125, "")
