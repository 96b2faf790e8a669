"""Commits of a repository in order, and what lies between two of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.packing.git.asked_git import ask_git, last_line

#: What to do about a shallow clone.
UNSHALLOW = "The clone is shallow: git fetch --unshallow gets older commits."
#: Words of messages that speak of speed; compiled where they are looked for, since that takes milliseconds.
_SPEED = (
    r"\b(perf\w*|speed\w*|fast\w*|slow\w*|optimi[sz]\w*|accelerat\w*|regress\w*|cache|caching|inline|unroll\w*"
    r"|vectori[sz]\w*|simd|throughput|latency|quick\w*)\b"
)


@dataclass(frozen=True, slots=True)
class WalkedCommit:
    """A commit: its hash, those of its parents, when it was committed (Unix seconds), and its subject."""

    commit: str
    parents: tuple[str, ...]
    committed_unix_s: int
    subject: str


@dataclass(frozen=True, slots=True)
class Distance:
    """What lies between two commits: commits, changed lines, commits whose message speaks of speed."""

    commits: int
    lines: int
    speed_words: int


class GitHistory:
    """Asks git about the history of a repository.

    Raises:
        InputError: the folder is in no repository, or there is no git.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError("is not a folder", where=str(folder), remedy="Name a clone of the project.")
        told = ask_git(folder, "rev-parse", "--show-toplevel", "--is-shallow-repository")
        lines = told.stdout.splitlines()
        if told.returncode != 0 or len(lines) < 2:
            raise InputError(
                f"is not in a git repository with files: {last_line(told)}",
                where=str(folder),
                remedy="Name a clone of the project.",
            )
        self.top = Path(os.fsdecode(lines[0]))
        #: Whether older commits are not there.
        self.is_shallow = lines[1] == b"true"

    def resolve(self, revision: str) -> str:
        """Return the hash of a commit.

        Raises:
            InputError: there is no such commit.
        """
        told = ask_git(
            self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        if told.returncode != 0:
            advice = UNSHALLOW if self.is_shallow else "Name a commit, tag or branch of the repository."
            raise InputError(f'there is no commit "{revision}"', where=str(self.top), remedy=advice)
        return told.stdout.decode().strip()

    def walk(
        self, revisions: str, *, first_parent: bool, stride: int = 1, touching: Sequence[str] = ()
    ) -> list[WalkedCommit]:
        """Return commits, the oldest first: each `stride`-th, counted from the newest.

        `revisions` is what git understands: a commit with all before it, or a range; `touching` are paths
        that commits change.

        Raises:
            InputError: git does not understand it, or nothing is left.
        """
        if revisions.startswith("-"):
            raise InputError(
                f'"{revisions}" is not a range', where=argument("range", verb="selection collect")
            )
        told = ask_git(
            self.top,
            "log",
            "--topo-order",
            "--format=%H%x00%P%x00%ct%x00%s",
            *(["--first-parent"] if first_parent else []),
            revisions,
            "--",
            *touching,
        )
        if told.returncode != 0:
            raise InputError(
                f'git cannot list "{revisions}": {last_line(told)}',
                where=argument("range", verb="selection collect"),
                remedy="A shallow clone lacks older commits: git fetch --unshallow."
                if self.is_shallow
                else "Write it as for git log: v1.0..HEAD.",
            )
        lines = told.stdout.decode(errors="replace").splitlines()
        found = [_read_commit(line) for line in lines[::stride]]
        if not found:
            raise InputError(f'there is no commit in "{revisions}"', where=str(self.top))
        return found[::-1]

    def describe(self, commit: str) -> WalkedCommit:
        """Return one commit."""
        return _read_commit(self._ask("log", "-1", "--format=%H%x00%P%x00%ct%x00%s", commit).rstrip("\n"))

    def read_parents(self, commits: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the parents of commits and of all their ancestors, without commits that are not there."""
        told = ask_git(self.top, "rev-list", "--ignore-missing", "--topo-order", "--parents", *commits)
        lines = (line.split() for line in told.stdout.decode().splitlines())
        return {first: tuple(rest) for first, *rest in lines}

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` descends from `old` or is it."""
        return ask_git(self.top, "merge-base", "--is-ancestor", old, new).returncode == 0

    def count_commits(self, old: str, new: str) -> int:
        """Return how many commits lie between two."""
        return int(self._ask("rev-list", "--count", f"{old}..{new}").strip() or 0)

    def measure_distance(self, old: str, new: str) -> Distance:
        """Return what lies between two commits."""
        subjects = self._ask("log", "--format=%s", f"{old}..{new}").splitlines()
        numbers = re.findall(r"(\d+) (?:insertion|deletion)", self._ask("diff", "--shortstat", old, new))
        fast = sum(bool(re.search(_SPEED, line, re.IGNORECASE)) for line in subjects)
        return Distance(len(subjects), sum(map(int, numbers)), fast)

    def _ask(self, *arguments: str) -> str:
        return ask_git(self.top, *arguments).stdout.decode(errors="replace")


@contextmanager
def follow_parents(top: Path, commit: str) -> Iterator[Mapping[str, tuple[str, ...]]]:
    """Give the parents of a commit's ancestors, read from git as far as they are asked for."""
    process = subprocess.Popen(
        ["git", "-C", str(top), "rev-list", "--parents", commit],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield _Parents(process.stdout)
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


class _Parents(dict[str, tuple[str, ...]]):
    """Reads lines until it knows the one that is asked for; what a shallow clone lacks has no parents."""

    def __init__(self, lines: Iterator[str]) -> None:
        super().__init__()
        self._lines = iter(lines)

    def __missing__(self, commit: str) -> tuple[str, ...]:
        for line in self._lines:
            first, *parents = line.split()
            self[first] = tuple(parents)
            if first == commit:
                return self[first]
        return ()


def _read_commit(line: str) -> WalkedCommit:
    commit, parents, when, subject = (*line.split("\0", 3), "", "", "")[:4]
    return WalkedCommit(commit, tuple(parents.split()), int(when or 0), subject)
