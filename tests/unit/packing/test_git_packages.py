"""Packages that are a revision of a git repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.packing.members import pack_members

HEAD = '[experiment]\nname = "e"\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a $repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    for number in (1, 2):
        (folder / "number").write_text(str(number))
        (folder / "tool.sh").write_text("#!/bin/sh\ncat number built\n")
        (folder / "tool.sh").chmod(0o755)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", str(number))
    git(folder, "tag", "v2.0")
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def read(repository: Path, *lines: str) -> FoundExperiment:
    file = repository.parent / "e.toml"
    tables = ['[[package]]\nname = "a"', f'git = "{repository.name}"', 'command = "./tool.sh"', *lines]
    file.write_text(HEAD + "\n".join(tables) + "\n")
    return read_experiment_file(file)


def refuse(repository: Path, *lines: str) -> str:
    with pytest.raises(InputError) as refused:
        read(repository, *lines)
    return str(refused.value)


def test_the_files_of_a_revision_are_built_and_run_where_they_are(repository: Path) -> None:
    found = read(repository, 'rev = "HEAD~1"', "build = \"printf ' %s' 'built' > built\"")
    package = found.packages[0]
    assert package.has_setup
    for script in ("./setup.sh", "./run.sh"):
        done = subprocess.run([script], cwd=package.path, capture_output=True, text=True, check=True)
    assert done.stdout == "1 built"
    assert not list(package.path.glob("*.tar"))


def test_the_bundle_names_the_whole_hash_and_the_repository(repository: Path, tmp_path: Path) -> None:
    found = read(repository, 'rev = "v2.0"')
    again = parse_experiment(found.text, name="bundle").packages[0]
    assert again == found.experiment.packages[0]
    assert again.git is not None
    assert (again.git.revision, again.git.repository) == (
        git(repository, "rev-parse", "HEAD"),
        str(repository),
    )
    assert again.needs.folders == ()
    digests = [
        pack_members(item.packages[0].path, tmp_path / "p.tar.gz").sha256
        for item in (found, read(repository))
    ]
    assert digests[0] == digests[1]


def test_a_build_that_fails_names_the_revision(repository: Path) -> None:
    found = read(repository, 'build = "exit 3"')
    done = subprocess.run(
        ["./setup.sh"], cwd=found.packages[0].path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert git(repository, "rev-parse", "HEAD") in done.stderr


def test_a_revision_that_is_not_there_is_refused_with_the_nearest(repository: Path) -> None:
    told = refuse(repository, 'rev = "trunc"')
    assert "e.toml:7: [package] rev" in told
    assert 'Did you mean "trunk"?' in told


def test_a_shallow_clone_says_that_it_is_one(repository: Path) -> None:
    git(repository.parent, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    assert "git fetch --unshallow" in refuse(repository.parent / "shallow", 'rev = "HEAD~1"')


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert "not a git repository" in refuse(tmp_path / "plain")
    told = refuse(tmp_path / "gone")
    assert "e.toml:5: [package] git" in told
    assert "is not there" in told


def test_submodules_and_uncommitted_changes_are_said_to_be_left_out(repository: Path) -> None:
    other = repository.parent / "other"
    git(repository.parent, "clone", "-q", str(repository), "other")
    git(repository, "submodule", "--quiet", "add", str(other), "parts")
    git(repository, "commit", "-qm", "parts")
    assert [note for note in read(repository).notes if "parts" in note]
    (repository / "number").write_text("3")
    assert any("not committed" in note for note in read(repository).notes)
    assert not any("not committed" in note for note in read(repository, 'rev = "HEAD~1"').notes)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('git = "x"', "does not say what is measured"),
        ('path = "y"\ngit = "x"', "path and git"),
        ('command = "a"\nrev = "x"', "rev says something of a repository"),
        ('command = "a"\ngit = "x"\nbuild = 3', "[package] build"),
        ('command = "a"\ngit = "x"\nrev = ""', "[package] rev"),
        ('command = "a"\ngit = "x"\nrev = "--all"', "no revision is called"),
        ('command = "a"\ngit = "x"\ndirectory = "y"', "[package] directory"),
        ('command = "a"\ngit = "https://x/y"', "Clone it"),
    ],
)
def test_what_is_wrong_with_a_git_package_is_said(lines: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_experiment(f'{HEAD}[[package]]\nname = "a"\n{lines}\n', name="e.toml")
    assert words in str(refused.value)
    assert "e.toml:" in str(refused.value)
