"""Questions to git about a repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from datamill.experiment.messages.suggestions import suggest_name

#: Variables by which git would look at another repository.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


class RevisionError(Exception):
    """A revision cannot be fetched; `key` of the package's table is what to correct."""

    def __init__(self, message: str, key: Literal["git", "rev"], remedy: str) -> None:
        super().__init__(message)
        self.key = key
        self.remedy = remedy


def find_revision(repository: Path, revision: str) -> str:
    """Return the full hash of a commit.

    Raises:
        RevisionError: when there is no git, no repository or no such commit, with the nearest name.
    """
    if not repository.is_dir():
        raise RevisionError(
            f"the repository is not there: {repository}",
            "git",
            "Correct the path; it is relative to the experiment file.",
        )
    looked = ask_git(repository, "rev-parse", "--git-dir")
    if looked.returncode != 0:
        raise RevisionError(
            f"{repository} is not a git repository that can be read: {last_line(looked)}",
            "git",
            "Name the folder of a clone.",
        )
    found = ask_git(
        repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if found.returncode == 0:
        return found.stdout.decode().strip()
    names = (
        ask_git(repository, "for-each-ref", "--format=%(refname:short)")
        .stdout.decode(errors="replace")
        .split()
    )
    if ask_git(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        remedy = "The clone is shallow, it lacks what is older: git fetch --unshallow gets all of it."
    elif names:
        remedy = f"{suggest_name(revision, names)} A hash or HEAD~1 will do as well."
    else:
        remedy = "The repository has no commits: make one."
    raise RevisionError(f'there is no revision "{revision}" in {repository}', "rev", remedy)


def ask_git(
    repository: Path, *arguments: str, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Ask git about a repository, with variables of its own where they are given.

    Raises:
        RevisionError: when there is no git.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    try:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments],
            env=environment | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"} | dict(settings or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise RevisionError("git is not on this machine", "git", "Install git.") from None


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return what git said was wrong."""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"git ended with status {done.returncode}"
