"""A generated C project whose commits have known effects, recognised from the binaries and one profile."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from datamill.conduct.selection.profile_command import profile_command
from datamill.conduct.selection.read_program import read_program
from datamill.selection.changes.table_changes import compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.indicators.evidence import Evidence
from datamill.selection.predictors.case import Case
from datamill.selection.predictors.perphecy import fit_perphecy

ENGINE = """
#include "engine.h"
static const int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__attribute__((noinline)) int mix(int a, int b) { return a * 31 + b; }
/*BEFORE HOT*/
__attribute__((noinline)) int hot(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s = mix(s, weights[i & 7]);
  return s;
}
__attribute__((noinline)) int cold(int n) { return n > 1000000 ? mix(n, 7) : n; }
__attribute__((noinline)) void check(int n) { if (n < 0) complain(__FILE__, __LINE__); }
__attribute__((noinline)) int unused(int n) { return n * 17; }
"""
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "engine.h"
void complain(const char *file, int line) { fprintf(stderr, "%s:%d\\n", file, line); exit(1); }
int main(int count, char **words) {
  int n = 5000;
  check(count);
  if (count > 9) n = unused(n);
  printf("%d\\n", hot(n) + cold(n));
  return 0;
}
"""
HEADER = """
int mix(int, int); int hot(int); int cold(int); int unused(int);
void check(int); void complain(const char *, int);
"""
MOVED = "__attribute__((noinline)) int cold(int n) { return n > 1000000 ? mix(n, 7) : n; }\n"

#: Commits: what is replaced in engine.c, and options of the compiler.
COMMITS = {
    "slower loop": ({"s = mix(s, weights[i & 7])": "{ s = mix(s, weights[i & 7]); s ^= s >> 3; }"}, "-O2"),
    "moved function": ({MOVED: "", "/*BEFORE HOT*/\n": "/*BEFORE HOT*/\n" + MOVED}, "-O2"),
    "changed constant": ({"1000000": "2000000"}, "-O2"),
    "changed table": ({"5, 9, 2, 6": "5, 9, 2, 7"}, "-O2"),
    "rename only": ({"mix(": "blend("}, "-O2"),
    "comment only": ({"/*BEFORE HOT*/\n": "/* three\n * more\n * lines */\n"}, "-O2"),
    "flag change": ({}, "-O1"),
    "unused function": ({"n * 17": "n * 19 + 1"}, "-O2"),
}


def build(folder: Path, edits: dict[str, str], level: str) -> Path:
    """Compile a version in a folder of its own, always by the same relative names."""
    folder.mkdir()
    engine, header = ENGINE, HEADER
    for old, new in edits.items():
        assert old in engine
        engine = engine.replace(old, new)
        header = header.replace(old, new)
    for name, text in {"engine.c": engine, "main.c": MAIN, "engine.h": header}.items():
        (folder / name).write_text(text)
    subprocess.run(
        ["gcc", level, "-g", "-frecord-gcc-switches", "-o", "program", "engine.c", "main.c"],
        cwd=folder,
        check=True,
    )
    return folder / "program"


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """The first version, and what each commit changed against it."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("history")
    first = build(folder / "first", {}, "-O2")
    table = read_program(first)
    changes = {
        name: compare_tables(table, read_program(build(folder / name.replace(" ", "-"), edits, level)))
        for name, (edits, level) in COMMITS.items()
    }
    return first, table, changes


def list_fates(changes):
    return {change.name: change.fate for change in changes.functions}


@pytest.mark.parametrize(
    ("commit", "fates", "data"),
    [
        ("slower loop", {"hot": "changed"}, []),
        ("moved function", {}, []),
        ("changed constant", {"cold": "changed"}, []),
        ("changed table", {}, ["weights"]),
        ("rename only", {"mix": "renamed"}, []),
        ("comment only", {"check": "lines"}, []),
        ("unused function", {"unused": "changed"}, []),
    ],
)
def test_each_commit_is_recognised_as_what_it_is(history, commit, fates, data):
    _, _, changes = history
    assert list_fates(changes[commit]) == fates
    assert [change.name for change in changes[commit].data] == data
    assert changes[commit].build == ()


def test_a_flag_is_seen_as_such(history):
    _, _, changes = history
    told = changes["flag change"].build
    assert any("no longer there" in line and "-O2" in line for line in told)
    assert any("new:" in line and "-O1" in line for line in told)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_perphecy_runs_what_changed_the_work_and_dismisses_the_rest(history):
    first, table, changes = history
    profile = profile_command([str(first)], first, table, "bench")
    assert profile.functions["mix"].calls == 5000
    assert "unused" not in profile.functions
    cases = []
    for order, (name, change) in enumerate(changes.items(), start=1):
        evidence = Evidence(change, profile)
        features = read_features(evidence)
        readings = {key[10:]: value for key, value in features.items() if key.startswith("indicator.")}
        cases.append(
            Case("bench", "first", name, 0, order, readings, features, name in ("slower loop", "flag change"))
        )
    model = fit_perphecy(cases)
    decided = {case.new for case in cases if model.decides(case)}
    assert decided == {"slower loop", "flag change"}
    # What the nine indicators cannot see (thesis 2015, 6.6) is a feature.
    table_case = next(case for case in cases if case.new == "changed table")
    assert not any(table_case.readings.values())
    assert table_case.features["own.data_reached"] == 1.0


@pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("valgrind", "git", "gcc", "make")),
    reason="valgrind, git, gcc or make is not installed",
)
def test_the_study_of_planted_commits_decides_them_as_in_use(tmp_path):
    # Nine commits are collected, learnt from and predicted one after the other: half a minute.
    script = Path(__file__).parents[3] / "studies" / "selection" / "planted.py"
    told = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "planted")],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines()[2:]]
    skipped = {row[0] for row in rows if row[3] == "skip"}
    assert len(rows) == 9
    assert {"Explain the loop (comment only)", "Move a function", "Rename a function"} <= skipped
    assert [row[3] for row in rows if row[0].startswith(("Slow", "Quicken", "Compile"))] == ["run"] * 3
    assert "missed" not in told
