"""A history of commits whose effects are known: what the selection sees in each, and what it decides.

    python studies/selection/planted.py [FOLDER]

Makes a git repository of a small C project in FOLDER (default: a temporary one), then types what a user
would: `selection collect`, `train` and `predict` for each commit, of which nothing was collected then. Needs
git, gcc, make and valgrind. *Instructions* are those of the benchmark, counted afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding.train_model import read_collection
from datamill.selection.changes.table_changes import TableChanges, compare_tables
from datamill.selection.history.collection import build_cases

DATAMILL = Path(sys.executable).parent / "datamill"

ENGINE = """\
#include "engine.h"
static const int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__attribute__((noinline)) int mix(int a, int b) { return a * 31 + b; }
/* The hot loop. */
__attribute__((noinline)) int hot(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s = mix(s, weights[i & 7]);
  return s;
}
__attribute__((noinline)) int cold(int n) { return n > 1000000 ? mix(n, 7) : n; }
__attribute__((noinline)) void check(int n) { if (n < 0) complain(__FILE__, __LINE__); }
__attribute__((noinline)) int unused(int n) { return n * 17; }
"""
MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "engine.h"
void complain(const char *file, int line) { fprintf(stderr, "%s:%d\\n", file, line); exit(1); }
int main(int count, char **words) {
  int n = 50000;
  check(count);
  if (count > 9) n = unused(n);
  printf("%d\\n", hot(n) + cold(n));
  return 0;
}
"""
HEADER = """\
int mix(int, int); int hot(int); int cold(int); int unused(int);
void check(int); void complain(const char *, int);
"""
#: What options were used stands in the program, as many distributions have it.
MAKEFILE = """\
CFLAGS = -O2 -g -frecord-gcc-switches
program: engine.c main.c engine.h Makefile
\t$(CC) $(CFLAGS) -o $@ engine.c main.c
"""
FIRST = {"engine.c": ENGINE, "main.c": MAIN, "engine.h": HEADER, "Makefile": MAKEFILE}
MOVED = "__attribute__((noinline)) int cold(int n) { return n > 1000000 ? mix(n, 7) : n; }\n"


@dataclass(frozen=True, slots=True)
class Planted:
    """A commit: what it replaces in all files, and whether the benchmark's work changes."""

    subject: str
    edits: Mapping[str, str]
    changes_work: bool = False


COMMITS = (
    Planted("Explain the loop (comment only)", {"/* The hot loop. */\n": "/* The\n * hot\n * loop. */\n"}),
    Planted("Move a function", {MOVED: "", "/* The\n": MOVED + "/* The\n"}),
    Planted("Change a constant of a cold function", {"1000000": "2000000"}),
    Planted("Change a function that the benchmark does not call", {"n * 17": "n * 19 + 1"}),
    Planted("Change a table", {"5, 9, 2, 6": "5, 9, 2, 7"}),
    Planted(
        "Slow the hot loop",
        {"s = mix(s, weights[i & 7])": "{ s = mix(s, weights[i & 7]); s ^= s >> 3; }"},
        True,
    ),
    Planted("Rename a function", {"mix(": "blend("}),
    Planted("Quicken the hot loop", {"i & 7]); s ^= s >> 3; }": "i & 7]); }"}, True),
    Planted("Compile with -O0 (flag only)", {"-O2": "-O0"}, True),
)
SETTINGS = """\
name = "planted"
binaries = ["program"]
repetitions = 5

[[build]]
command = "make"

[[benchmark]]
name = "loop"
command = "./program"

[truth]
rule = "instructions"
threshold = 0.001
"""


def make_history(folder: Path) -> list[str]:
    """Make the repository; return its commits, the oldest first."""
    files = dict(FIRST)
    run = _runner(folder)
    run("git", "init", "--quiet")
    commits = [_commit(folder, files, "Begin")]
    for planted in COMMITS:
        before = dict(files)
        for old, new in planted.edits.items():
            files = {name: text.replace(old, new) for name, text in files.items()}
        if files == before:
            raise ValueError(f"{planted.subject}: nothing was replaced")
        commits.append(_commit(folder, files, planted.subject))
    return commits


def _commit(folder: Path, files: Mapping[str, str], subject: str) -> str:
    for name, text in files.items():
        (folder / name).write_text(text)
    run = _runner(folder)
    run("git", "add", *files)
    who = ("-c", "user.name=planted", "-c", "user.email=planted@example.org")
    run("git", *who, "commit", "--quiet", "-m", subject)
    return run("git", "rev-parse", "HEAD").strip()


def _runner(folder: Path) -> Callable[..., str]:
    # What git says of a repository around this one does not count.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def run(*words: str) -> str:
        done = subprocess.run(
            words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
        return done.stdout

    return run


def decide_each(folder: Path, commits: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return what is predicted of each commit, when all before it were collected and nothing of it was."""
    run = _runner(folder)
    told = []
    for old, new in itertools.pairwise(commits):
        run(str(DATAMILL), "selection", "collect", "--range", old)
        run(str(DATAMILL), "selection", "train")
        answer = json.loads(run(str(DATAMILL), "selection", "predict", new, "--json"))
        if answer["against"] != old:
            raise ValueError(f"{new} was compared with {answer['against']}, not with {old}")
        told.append(answer["predictions"][0])
    run(str(DATAMILL), "selection", "collect")
    return told


def describe_changes(changes: TableChanges) -> str:
    """Return what differs between two programs, in some words."""
    parts = [f"{change.fate}: `{change.name}`" for change in changes.functions]
    if len(parts) > 2:
        parts = [f"{len(parts)} functions"]
    parts += [f"{change.fate}: data `{change.name}`" for change in changes.data]
    if changes.build:
        parts.append("options")
    return ", ".join(parts) or ("nothing" if changes.is_identical else "places alone")


def print_table(folder: Path, commits: Sequence[str], told: Sequence[Mapping[str, Any]]) -> int:
    """Print a line for each commit; return how many changes were missed."""
    project = open_project(folder, None, None)
    collection = read_collection(project)
    pairs = [
        (collection.by_commit[old], collection.by_commit[new]) for old, new in itertools.pairwise(commits)
    ]
    cases = build_cases(collection, pairs, project.settings.truth, keep_identical=True).cases
    print("| commit | what differs | instructions | decision | probability | |")
    print("|---|---|---:|---|---:|---|")
    missed = 0
    for planted, (old, new), case, decided in zip(COMMITS, pairs, cases, told, strict=True):
        if case.ratio is None or case.changed != planted.changes_work:
            raise ValueError(f"{planted.subject}: changed the work by {case.ratio}, which was not planted")
        seen = compare_tables(collection.read_table(old.program), collection.read_table(new.program))
        probability = decided["probability"]
        missed += case.changed and not decided["run"]
        cells = (
            planted.subject,
            describe_changes(seen),
            f"{100 * (case.ratio - 1):+.2f}%",
            "run" if decided["run"] else "skip",
            "-" if probability is None else f"{100 * probability:.0f}%",
            "right" if decided["run"] == case.changed else "missed" if case.changed else "needless",
        )
        print(f"| {' | '.join(cells)} |")
    return missed


def main() -> int:
    """Make the history, decide about each commit, and print the table; status 1 where a change was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="of the repository; it is made")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "planted"
        folder.mkdir(parents=True)
        commits = make_history(folder)
        (folder / "selection.toml").write_text(SETTINGS)
        return print_table(folder, commits, decide_each(folder, commits)) > 0


if __name__ == "__main__":
    sys.exit(main())
