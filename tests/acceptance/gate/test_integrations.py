"""The files for GitHub, GitLab and Forgejo, step by step, against a server that plays the platform."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from acceptance.gate.ci_jobs import ACTIONS, FOLDER, Job, make_job, pull_request, run_action
from acceptance.gate.review_platform import MARK, READER, STRANGER, TOKEN, Platform
from acceptance.gate.scratch_repositories import commit, git

GITLAB = FOLDER / "gitlab" / "datamill-gate.yml"

PROGRAM = """
volatile unsigned long total;
int main(void) { for (unsigned long i = 0; i < STEPS; i++) total += i; return 0; }
"""
GATE = """
[gate]
build = "make -s"
[[benchmark]]
name = "a loop | of *ours*"
command = "./prog"
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with a commit on main, and one on a branch that makes a program twice as slow."""
    origin, folder = tmp_path / "origin.git", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    git(tmp_path, "clone", "--quiet", str(origin), str(folder))
    git(folder, "checkout", "--quiet", "-B", "main")
    (folder / "prog.c").write_text(PROGRAM)
    (folder / "gate.toml").write_text(GATE)
    for branch, steps in (("main", 3_000_000), ("change", 6_000_000)):
        git(folder, "checkout", "--quiet", "-B", branch)
        (folder / "Makefile").write_text(f"prog: prog.c\n\t$(CC) -O1 -DSTEPS={steps} -o prog prog.c\n")
        commit(folder, branch)
        git(folder, "push", "--quiet", "origin", branch)
    return folder


@pytest.mark.parametrize(
    "path", sorted(FOLDER.rglob("*.yml")), ids=lambda path: str(path.relative_to(FOLDER))
)
def test_no_script_holds_what_a_stranger_may_write(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    jobs = document.get("jobs", {}).values()
    steps = [*document.get("runs", {}).get("steps", ()), *(step for job in jobs for step in job["steps"])]
    for step in steps:
        assert "${{" not in step.get("run", "")
    # A key `on` is true to YAML 1.1.
    assert "pull_request_target" not in str(document.get(True, ""))
    for step in steps:
        if "actions/checkout" in step.get("uses", ""):
            asked = dict(step["with"])
            assert asked.pop("submodules", "${{ inputs.submodules }}") == "${{ inputs.submodules }}"
            assert asked == {"fetch-depth": 0, "persist-credentials": False}


def test_both_actions_differ_in_nothing_but_the_platform() -> None:
    github, forgejo = (yaml.safe_load(ACTIONS[name].read_text()) for name in ("github", "forgejo"))
    assert github["inputs"] == forgejo["inputs"]
    for one, other in zip(github["runs"]["steps"], forgejo["runs"]["steps"], strict=True):
        assert one.get("run", "").replace('comment" github', 'comment" forgejo') == other.get("run", "")
        assert {**one, "uses": "", "run": ""} == {**other, "uses": "", "run": ""}


def test_an_action_judges_a_pull_request_and_replaces_its_comment(clone: Path, platform: Platform) -> None:
    # Others may write the mark; their comments are theirs.
    for number in range(150):
        platform.add(STRANGER, f"{MARK}\n{number}")
    job = make_job(clone, platform, "github")
    assert run_action(job, "github", pull_request(TOKEN)) == 1
    (first,) = platform.own
    assert first.startswith(f"{MARK}\n### Slower\n")
    assert r"a loop \| of \*ours\*" in first
    assert json.loads((clone / "gate" / "gate.json").read_text())["passes"] is False
    assert (clone / "gate" / "report.html").is_file()
    # The next run finds it again, on the second page.
    (clone / "comment.md").write_text(f"{MARK}\nanother\n")
    assert run_action(job, "github", pull_request(TOKEN), ("Comment", "Verdict")) == 1
    assert platform.own == [f"{MARK}\nanother\n"]
    assert sum(item["body"].startswith(f"{MARK}\n1") for item in platform.comments) == 61
    assert not (clone.parent / "summary").exists()
    assert TOKEN not in job.everything


def test_a_pull_request_from_a_fork_has_its_comment_in_the_summary(clone: Path, platform: Platform) -> None:
    job = make_job(clone, platform, "forgejo")
    assert run_action(job, "forgejo", pull_request(READER)) == 1
    assert platform.own == []
    assert (clone.parent / "summary").read_text() == (clone / "comment.md").read_text()
    assert "403" in job.everything
    assert READER not in job.everything


def test_pushes_to_main_add_to_a_branch_that_they_make(clone: Path, platform: Platform) -> None:
    job = make_job(clone, platform, "github")
    before = git(clone, "rev-parse", "main").strip()
    push = {"github.event_name": "push", "github.event.before": before, "inputs.token": TOKEN}
    # As in a job, which checks out a commit.
    git(clone, "checkout", "--quiet", "--detach", "change")
    assert run_action(job, "github", push) == 1
    fetch(clone)
    kept = git(clone, "show", "origin/datamill-history:history.csv").strip()
    assert kept == (clone / "history.csv").read_text().strip()
    assert len(kept.splitlines()) > 6
    assert MARK in (clone.parent / "summary").read_text()
    # What another job adds meanwhile stays.
    put_other_history(clone, f"{kept}\nline of another,1,1,1,1.0,s,m,1\n")
    (clone / "history.csv").write_text(f"{kept}\nline of ours,1,1,1,1.0,s,m,1\n")
    assert run_action(job, "github", push, ("Keep the history",)) == 0
    fetch(clone)
    lines = git(clone, "show", "origin/datamill-history:history.csv").splitlines()
    assert [line.partition(",")[0] for line in lines[-2:]] == ["line of another", "line of ours"]
    assert git(clone, "ls-tree", "--name-only", "origin/datamill-history").split() == ["history.csv", "other"]
    # The next job begins with all of it.
    assert run_action(job, "github", push, ("Get the history",)) == 0
    assert (clone / "history.csv").read_text().splitlines() == lines
    assert TOKEN not in job.everything


def fetch(clone: Path) -> None:
    git(clone, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")


def put_other_history(clone: Path, text: str) -> None:
    other = clone.parent / "other"
    git(clone.parent, "clone", "--quiet", "--branch", "datamill-history", "origin.git", str(other))
    (other / "history.csv").write_text(text)
    (other / "other").write_text("a file of somebody\n")
    commit(other, "other")
    git(other, "push", "--quiet")


def test_gitlab_judges_a_merge_request(clone: Path, platform: Platform) -> None:
    document = yaml.safe_load(GITLAB.read_text())
    shared, own = document[".datamill"], document["datamill-gate"]
    assert shared["variables"]["GIT_DEPTH"] == "0"
    assert (own["extends"], shared["artifacts"]["when"]) == (".datamill", "always")
    (clone / "runner").symlink_to(FOLDER)
    job = Job(
        clone,
        document["variables"]
        | {
            "DATAMILL_PACKAGE": "",
            "DATAMILL_WITHIN": "10s",
            "DATAMILL_SCRIPTS": "./runner",
            "DATAMILL_TOKEN": TOKEN,
            "CI_API_V4_URL": platform.address,
            "CI_PROJECT_ID": "forked",
            "CI_MERGE_REQUEST_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(clone, "rev-parse", "main").strip(),
        },
    )
    script = "\n".join([*shared["before_script"], *own["script"]])
    assert job.run(script, {}, ("sh", "-ec")) == 1, job.said
    assert platform.own[0].startswith(f"{MARK}\n### Slower\n")
    assert job.run("\n".join([*shared["before_script"], own["script"][1]]), {}, ("sh", "-ec")) == 0
    assert len(platform.own) == 1
    assert platform.asked[-1] == ("PUT", f"/projects/12/merge_requests/7/notes/{platform.comments[0]['id']}")
    assert TOKEN not in job.everything
    history = "\n".join([*shared["before_script"], *document["datamill-history"]["script"]])
    assert subprocess.run(["sh", "-n", "-c", history], check=False).returncode == 0


def test_what_cannot_be_measured_replaces_the_old_verdict(clone: Path, platform: Platform) -> None:
    (clone / "gate.toml").write_text(GATE.replace("command", "comand"))
    job = make_job(clone, platform, "github")
    assert run_action(job, "github", pull_request(TOKEN)) == 2
    (comment,) = platform.own
    assert comment.startswith(f"{MARK}\n### Not measured\n")
    assert "    datamill: " in comment
    assert "comand" in comment
    assert (clone / "gate" / "comment.md").is_file()


def test_a_history_that_cannot_be_reached_is_not_begun_anew(clone: Path) -> None:
    told = subprocess.run(
        [sys.executable, FOLDER / "keep-history", "get", "history.csv"],
        cwd=clone,
        env=os.environ | {"REMOTE": str(clone.parent / "nowhere.git"), "TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert "git ls-remote" in told.stderr
    assert not (clone / "history.csv").exists()
