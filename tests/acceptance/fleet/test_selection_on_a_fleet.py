"""A project's history built, profiled and measured by a machine of a fleet, then learnt from as ever."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.conftest import Command, assert_refused
from acceptance.fleet.fleets import LocalFleet

from datamill.cli.selection.fleet.asked_fleet import AskedFleet
from datamill.conduct.selection.store.selection_store import SelectionStore

SOURCE = """
int main(int count, char **words) {
  int s = 0;
  for (int i = 0; i < 20000; i++) s = work(s, i);
  return s == 42 || count != 2;
}
"""
WORK = "__attribute__((noinline)) int work(int s, int i) { return s * 31 + i; }\n"
SLOWER = WORK.replace("s * 31 + i", "(s ^ s >> 3) * 31 + (i ^ s << 2)")
#: Commits by their subject, with what the program is then.
COMMITS = {
    "first": WORK,
    "only a comment": "/* */ " + WORK,
    "does not build": "int work(",
    "slower loop": SLOWER,
}
SETTINGS = """
name = "loops"
binaries = ["program"]
inputs = ["words"]
[[build]]
command = "make"
[[benchmark]]
name = "from a file"
command = "./program $(cat {here}/words)"
"""

pytestmark = [
    pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("gcc", "make", "valgrind")
]


def git(folder: Path, *arguments: str) -> str:
    told = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout.strip()


@pytest.fixture
def project(datamill: Command) -> Path:
    folder = datamill.folder / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "Makefile").write_text("program: main.c\n\tgcc -O1 -o program main.c\n")
    (folder / ".gitignore").write_text("program\n")
    for subject, functions in COMMITS.items():
        (folder / "main.c").write_text(functions + SOURCE)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", subject)
    (folder / "selection.toml").write_text(SETTINGS)
    (folder / "words").write_text("word\n")
    return folder


@pytest.fixture
def fleet(datamill: Command) -> Iterator[LocalFleet]:
    """A coordinator and one machine."""
    started = LocalFleet(datamill)
    try:
        started.join("bench")
        yield started
    finally:
        started.stop()


def test_a_history_is_collected_by_a_machine_of_the_fleet(
    fleet: LocalFleet, datamill: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr(AskedFleet, "follow", interrupt)
        assert datamill("selection", "collect", project, "--fleet").returncode == 130
    # Experiment 1 goes on, and is taken home by the same command; programs are measured in another one.
    made = datamill("selection", "collect", project, "--fleet", "--json")
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)["collection"]
    assert (told["built"], told["failed"], told["finished"], told["machine"]) == (3, 1, True, "bench")
    assert "main.c" in told["reasons"][0][0]
    # Two versions differ in a comment only: their programs are one, which was measured once.
    assert (told["programs"], told["profiled"], told["observations"]) == (2, 2, 2 * 5)
    assert told["failing"] == []
    assert "Submitted as experiment 2" in made.stderr
    store = SelectionStore(project / ".datamill" / "selection")
    assert {item.machine for item in store.read_observations()} == {"bench"}
    assert all(item.instructions and item.machine == "bench" for item in store.read_counts())

    again = datamill("selection", "collect", project, "--fleet", "--json")
    assert json.loads(again.stdout)["collection"] == told | {"fresh": 0}
    assert len(fleet.ask("/experiments")) == 2

    # What was collected on the fleet is learnt from as what was collected here, and not mixed with it.
    program = next(item.program for item in store.versions if item.subject == "first")
    assert store.read_profiles(program)["from a file"].functions["work"].calls == 20000
    assert datamill("selection", "train", project, "--truth", "instructions").returncode == 0
    predicted = datamill("selection", "predict", "HEAD", "--repo", project, "--json")
    assert [item["run"] for item in json.loads(predicted.stdout)["predictions"]] == [True]
    (project / "main.c").write_text(WORK + SOURCE)
    git(project, "commit", "--quiet", "--all", "--message", "back again")
    predicted = datamill("selection", "predict", "HEAD", "--repo", project, "--json")
    assert any("was built here" in line for line in json.loads(predicted.stdout)["warnings"])
    assert SelectionStore(store.folder).versions == store.versions
    assert_refused(datamill("selection", "collect", project), "on bench, a machine of a fleet", "--fleet")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt
