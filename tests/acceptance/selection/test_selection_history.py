"""A project's history from `init` to `predict`, `evaluate` and `bisect`, and what cannot be used."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.main import datamill, main
from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding.predict_revision import predict_revision

SOURCE = """
int main(int count, char **words) {
  int s = 0;
  for (int i = 0; i < ROUNDS; i++) s = work(s, i);
  if (count > 9) s = unused(s);
  return s == 42;
}
"""
WORK = "__attribute__((noinline)) int work(int s, int i) { return s * 31 + i; }\n"
UNUSED = "__attribute__((noinline)) int unused(int s) { return s * 3; }\n"
SLOWER = WORK.replace("s * 31 + i", "(s ^ s >> 3) * 31 + (i ^ s << 2)")
#: Commits by their subject, with what the program is then.
COMMITS = {
    "first": WORK + UNUSED,
    "change what nothing executes": WORK + UNUSED.replace("3", "5"),
    "does not build": "int work(",
    "slower loop": SLOWER + UNUSED.replace("3", "5"),
    "only a comment": "/* */ " + SLOWER + UNUSED.replace("3", "5"),
    "change it again": "/* */ " + SLOWER + UNUSED.replace("3", "7"),
}

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]


def git(folder, *arguments):
    told = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout.strip()


def ask(*arguments, status=0):
    found = CliRunner().invoke(datamill, ["selection", *map(str, arguments)])
    assert found.exit_code == status, found.output
    return found.stdout


def refuse(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["selection", *map(str, arguments)])
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A repository whose history was collected and learnt from."""
    folder = tmp_path_factory.mktemp("project")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "Makefile").write_text(
        "program: main.c\n\tgcc -O1 -DROUNDS=20000 -o program $(CURDIR)/main.c\n"
    )
    (folder / ".gitignore").write_text("program\n")
    for subject, functions in COMMITS.items():
        (folder / "main.c").write_text(functions + SOURCE)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", subject)
    subprocess.run(["make", "--silent"], cwd=folder, check=True)
    begun = json.loads(ask("init", folder, "--json"))
    assert begun["builds"][0]["system"] == "make"
    assert begun["binaries"] == ["program"]
    file = folder / "selection.toml"
    file.write_text(
        file.read_text().replace('"version"', '"bench"').replace("./program --version", "./program")
    )
    told = json.loads(ask("collect", folder, "--json"))
    assert told["collection"]["built"] == 5
    assert told["collection"]["failed"] == 1
    assert "main.c" in told["collection"]["reasons"][0][0]
    # Two versions differ in a comment only: their programs are one, which was measured once.
    assert told["collection"]["programs"] == 4
    assert told["collection"]["observations"] == 4 * 5
    kept = folder / ".datamill" / "selection"
    assert not [file.name for file in kept.glob("*.json") if str(folder) in file.read_text()]
    ask("train", folder, "--truth", "instructions", "--predictor", "perphecy")
    return folder


def find(project, subject):
    return git(project, "log", "--format=%H", "--fixed-strings", f"--grep={subject}", "main").split()[0]


def test_a_commit_that_changes_the_work_must_run_with_the_function_behind_it(project):
    commit = find(project, "slower loop")
    told = json.loads(ask("predict", commit, "--repo", project, "--json"))
    assert told["commit"] == commit
    assert told["against"] == find(project, "change what nothing executes")
    (found,) = told["predictions"]
    assert set(found) == {"benchmark", "run", "probability", "direction", "magnitude", "reason", "indicators"}
    assert found["run"]
    assert any("work" in fired["functions"] for fired in found["indicators"])
    assert ask("predict", commit, "--repo", project, "--check", status=1)


def test_a_comment_and_code_that_is_not_reached_are_skipped(project):
    for subject in ("only a comment", "change it again"):
        told = json.loads(ask("predict", find(project, subject), "--repo", project, "--json", "--check"))
        assert [item["run"] for item in told["predictions"]] == [False]


def make_by_hand(project, commit, folder):
    git(folder.parent, "clone", "--quiet", str(project), folder.name)
    git(folder, "checkout", "--quiet", commit)
    subprocess.run(["make", "--silent"], cwd=folder, check=True)
    return folder


def test_binaries_that_a_build_names_are_looked_for_in_what_was_built_by_hand(project, tmp_path):
    text = (project / "selection.toml").read_text()
    text = text.replace('binaries = ["program"]', 'binaries = ["elsewhere"]')
    text = text.replace('command = "make -j2"', 'command = "make -j2"\nbinaries = ["program"]')
    (tmp_path / "own.toml").write_text(text)
    commit = find(project, "slower loop")
    built = make_by_hand(project, commit, tmp_path / "built")
    words = ("--built", built, "--repo", project, "--file", tmp_path / "own.toml", "--json")
    (found,) = json.loads(ask("predict", commit, *words))["predictions"]
    assert found["run"]


def test_a_prediction_keeps_what_was_collected_since_it_began(project, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(project / ".datamill" / "selection", store)
    commit = find(project, "slower loop")
    built = make_by_hand(project, commit, tmp_path / "built")
    opened = open_project(project, None, store)
    known = json.loads((store / "versions.json").read_text())
    assert len(opened.store.versions) == len(known)
    (store / "versions.json").write_text(
        json.dumps([*known, {"commit": "f" * 40, "order": 6, "outcome": "failed"}])
    )
    predict_revision(opened, commit, built=built)
    assert [item["commit"] for item in json.loads((store / "versions.json").read_text())] == [
        *(item["commit"] for item in known),
        "f" * 40,
    ]


def test_nothing_is_done_twice(project):
    told = json.loads(ask("collect", project, "--json"))["collection"]
    assert told["fresh"] == 0
    assert told["observations"] == 4 * 5


def test_a_packed_store_is_evaluated_without_its_repository(project, tmp_path):
    ask("pack", tmp_path / "packed", "--repo", project)
    words = ("--truth", "instructions", "--predictor", "perphecy", "--predictor", "always", "--json")
    here = json.loads(ask("evaluate", project, *words))
    there = json.loads(ask("evaluate", "--store", tmp_path / "packed", *words))
    assert here == there
    assert here["identical"] == 1
    assert (here["cases"], here["changes"]) == (3, 1)
    epochs = here["evaluations"][0]
    assert epochs["name"] == "epochs"
    assert epochs["hit"]["n"] + epochs["dismiss"]["n"] == epochs["cases"]
    assert epochs["curve"][0]["dismiss"]["value"] == 1.0
    assert [point["dismissed"] for point in epochs["operating_points"]] == [0.5, 0.8, 0.9]


def test_a_change_is_found_by_bisection(project):
    first, last = find(project, "first"), find(project, "change it again")
    store = project / ".datamill" / "selection"
    before = (store / "counts.json").read_text()
    commits = {item["commit"]: item["program"] for item in json.loads((store / "versions.json").read_text())}
    first_alone = [item for item in json.loads(before) if item["program"] == commits[first]]
    (store / "counts.json").write_text(json.dumps(first_alone))
    told = json.loads(ask("bisect", "bench", first, last, "--repo", project, "--json"))
    # What no commit between needs is not profiled.
    assert json.loads((store / "counts.json").read_text()) == first_alone
    (store / "counts.json").write_text(before)
    assert told["found"] == find(project, "slower loop")
    assert told["answer"][0] == f"Commit {told['found'][:9]} changed bench: slower loop."
    assert told["ratio"] > 1.01
    assert told["warnings"] == ["1 commit between does not build: changes count as those of the next commit."]
    ask("bisect", "bench", find(project, "only a comment"), last, "--repo", project, "--json", status=1)


def test_a_benchmark_that_failed_is_tried_again_when_that_is_asked_for(project, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(project / ".datamill" / "selection", store)
    text = (project / "selection.toml").read_text()
    helper = tmp_path / "helper"
    helper.write_text("#!/bin/sh\nexit 3\n")
    helper.chmod(0o755)
    (tmp_path / "own.toml").write_text(
        f'{text}\n[[benchmark]]\nname = "helped"\ncommand = "{helper} ./program"\n'
    )
    words = ("collect", project, "--range", find(project, "first"), "--store", store, "--json")
    words = (*words, "--file", tmp_path / "own.toml")
    failing = json.loads(ask(*words))["collection"]["failing"]
    assert {name for name, _, _ in failing} == {"helped"}
    helper.write_text('#!/bin/sh\nexec "$@"\n')

    def count():
        counts = json.loads((store / "counts.json").read_text())
        return [item["instructions"] for item in counts if item["benchmark"] == "helped"]

    again = json.loads(ask(*words))["collection"]
    assert count() == [None] * 4
    retried = json.loads(ask(*words, "--retry-failed"))["collection"]
    assert all(count())
    # In a common order with the other benchmark.
    assert retried["observations"] == again["observations"] + 4 * 2 * 5
    assert retried["failing"] == []


def test_a_search_asks_for_the_features_of_the_user_too(project, tmp_path):
    shutil.copytree(project / ".datamill" / "selection", tmp_path / "store")
    feature = '[[feature]]\nname = "own"\ncommand = "echo width 3"\n'
    (tmp_path / "own.toml").write_text((project / "selection.toml").read_text() + feature)
    first, slower = find(project, "first"), find(project, "slower loop")
    words = ("--repo", project, "--file", tmp_path / "own.toml", "--store", tmp_path / "store")
    ask("bisect", "bench", first, slower, "--no-measure", *words)
    asked = json.loads((tmp_path / "store" / "user_features.json").read_text())
    assert list(asked.values()) == [{"width": 3.0}] * 2
    assert any(f"{first} {find(project, 'change what nothing executes')}" in key for key in asked)


def test_a_change_within_the_spread_of_counts_is_not_searched_for(project):
    first, slower = find(project, "first"), find(project, "slower loop")
    counts = project / ".datamill" / "selection" / "counts.json"
    before = counts.read_text()
    words = ("bisect", "bench", first, slower, "--repo", project, "--json")

    def count_again(share):
        told = json.loads(before)
        told[0]["again"] = round(told[0]["instructions"] * (1 + share))
        counts.write_text(json.dumps(told))

    try:
        count_again(0.005)
        near = json.loads(ask(*words))
        count_again(9.0)
        wide = json.loads(ask(*words, status=1))
    finally:
        counts.write_text(before)
    assert near["found"] == slower
    assert wide["found"] is None
    assert wide["ratio"] == near["ratio"] > 1.01
    assert wide["steps"] == []
    _, spread, verdict = wide["warnings"]
    assert spread.startswith("Two counts of one program differed by 900.0% in bench:")
    assert verdict == "Good and bad do not differ by what counts as a change."


def test_a_shallow_clone_leaves_what_is_known_of_the_order_of_versions(project, tmp_path):
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "shallow")
    shallow = tmp_path / "shallow"
    shutil.copy(project / "selection.toml", shallow)
    shutil.copytree(project / ".datamill", shallow / ".datamill")
    told = json.loads(ask("collect", shallow, "--no-profile", "--no-measure", "--json"))
    assert any("the clone is shallow" in line.lower() for line in told["warnings"])
    versions = Path(".datamill") / "selection" / "versions.json"
    known = json.loads((project / versions).read_text())
    assert [item["hops"] for item in known] == [0, 1, 1, 2, 1, 1]
    assert json.loads((shallow / versions).read_text()) == known


def test_what_cannot_be_used_is_refused_with_what_to_do(project, tmp_path, capsys):
    assert 'there is no commit "nowhere"' in refuse(capsys, "predict", "nowhere", "--repo", project)
    assert "was profiled" in refuse(capsys, "predict", find(project, "first"), "--repo", project)
    assert "does not build" in refuse(capsys, "predict", find(project, "does not build"), "--repo", project)
    assert "is there already" in refuse(capsys, "init", project)
    told = refuse(capsys, "bisect", "bunch", "HEAD~1", "--repo", project)
    assert 'Did you mean "bench"?' in told
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "shallow")
    shutil.copy(project / "selection.toml", tmp_path / "shallow")
    shutil.copytree(project / ".datamill", tmp_path / "shallow" / ".datamill")
    told = refuse(capsys, "predict", "HEAD", "--against", "HEAD~1", "--repo", tmp_path / "shallow")
    assert "git fetch --unshallow" in told
    model = tmp_path / "shallow" / ".datamill" / "selection" / "model.json"
    model.write_text("{")
    told = refuse(capsys, "predict", "HEAD", "--repo", tmp_path / "shallow")
    assert "Train anew: datamill selection train" in told
    (tmp_path / "shallow" / "selection.toml").write_text('binary = ["program"]')
    assert 'Did you mean "binaries"?' in refuse(capsys, "collect", tmp_path / "shallow")
