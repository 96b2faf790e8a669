"""The files for GitHub, GitLab and Forgejo, step by step, against a server that plays the platform."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from acceptance.conftest import BIN
from acceptance.review_platform import MARK, READER, STRANGER, TOKEN, Platform

FOLDER = Path(__file__).parents[2] / "integrations"
ACTIONS = {"github": FOLDER / "github" / "action.yml", "forgejo": FOLDER / "forgejo" / "action.yml"}
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
def platform() -> Iterator[Platform]:
    with Platform() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | who, check=True, capture_output=True, text=True
    ).stdout.strip()


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
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "-m", branch)
        git(folder, "push", "--quiet", "origin", branch)
    return folder


@dataclass
class Job:
    """Executes steps in a clone, in an environment that lacks what a job does not have."""

    clone: Path
    variables: dict[str, str]
    said: list[str] = field(default_factory=list)

    def run(self, script: str, variables: Mapping[str, str], shell: tuple[str, ...]) -> int:
        kept = ("HOME", "PYTHONPATH", "DATAMILL_HOST_LOCK", "DATAMILL_WORKER", "LANG")
        told = subprocess.run(
            [*shell, script],
            cwd=self.clone,
            env={
                **{name: os.environ[name] for name in kept if name in os.environ},
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "DATAMILL_STATE_DIR": str(self.clone.parent / "state"),
                **self.variables,
                **variables,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        self.said.append(told.stdout + told.stderr)
        return told.returncode

    @property
    def everything(self) -> str:
        """All that somebody may read afterwards."""
        written = [self.clone / "comment.md", *(self.clone / "gate").glob("*")]
        summary = Path(self.variables.get("GITHUB_STEP_SUMMARY", "/dev/null"))
        return "\n".join([*self.said, *(path.read_text() for path in [*written, summary] if path.exists())])


def evaluate(text: str, values: Mapping[str, str]) -> str:
    """An expression of an action, of those that ours have."""
    code = text.replace("&&", " and ").replace("||", " or ").replace("always()", "True")
    code = re.sub(r"(?<!')\b(?:github|inputs)\.[\w.]+", lambda match: repr(values[match[0]]), code)
    return str(eval(code, {"__builtins__": {}}))


def run_action(job: Job, name: str, values: Mapping[str, str], only: tuple[str, ...] = ()) -> int:
    """Run the steps of an action and return the status of the last; those before it must end well."""
    action = yaml.safe_load(ACTIONS[name].read_text())
    inputs = {f"inputs.{key}": value["default"] for key, value in action["inputs"].items()}
    known = {
        **inputs,
        "github.event.before": "",
        "github.base_ref": "",
        "github.event.pull_request.number": "",
    }
    known |= {"inputs.package": "", "inputs.within": "3s", **values}
    status = 0
    for step in action["runs"]["steps"]:
        if "run" not in step or (only and step["name"] not in only):
            continue
        if "if" in step and evaluate(step["if"], known) in ("False", ""):
            continue
        assert status == 0, job.said[-1]
        assert step["shell"] == "bash"
        given = {
            key: re.sub(r"\$\{\{(.+?)\}\}", lambda match: evaluate(match[1], known), str(value))
            for key, value in step.get("env", {}).items()
        }
        status = job.run(step["run"], given, ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"))
    return status


def make_job(clone: Path, platform: Platform, name: str) -> Job:
    (clone.parent / "temporary").mkdir()
    return Job(
        clone,
        {
            "GITHUB_ACTION_PATH": str(ACTIONS[name].parent),
            "GITHUB_API_URL": platform.address,
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_STEP_SUMMARY": str(clone.parent / "summary"),
            "GITHUB_PATH": str(clone.parent / "path"),
            "RUNNER_TEMP": str(clone.parent / "temporary"),
        },
    )


def pull_request(token: str) -> dict[str, str]:
    return {
        "github.event_name": "pull_request",
        "github.base_ref": "main",
        "github.event.pull_request.number": "7",
        "inputs.token": token,
    }


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
            assert step["with"] == {"fetch-depth": 0, "persist-credentials": False}


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
    before = git(clone, "rev-parse", "main")
    push = {"github.event_name": "push", "github.event.before": before, "inputs.token": TOKEN}
    # As in a job, which checks out a commit.
    git(clone, "checkout", "--quiet", "--detach", "change")
    assert run_action(job, "github", push) == 1
    kept = git(clone, "show", "origin/datamill-history:history.csv") if fetch(clone) else ""
    assert kept == (clone / "history.csv").read_text().strip()
    assert len(kept.splitlines()) > 6
    assert MARK in (clone.parent / "summary").read_text()
    # What another job adds meanwhile stays.
    put_other_history(clone, f"{kept}\nline of another,1,1,1,1.0,s,m,1\n")
    (clone / "history.csv").write_text(f"{kept}\nline of ours,1,1,1,1.0,s,m,1\n")
    assert run_action(job, "github", push, ("Keep the history",)) == 0
    assert fetch(clone)
    lines = git(clone, "show", "origin/datamill-history:history.csv").splitlines()
    assert [line.partition(",")[0] for line in lines[-2:]] == ["line of another", "line of ours"]
    assert git(clone, "ls-tree", "--name-only", "origin/datamill-history").split() == ["history.csv", "other"]
    # The next job begins with all of it.
    assert run_action(job, "github", push, ("Get the history",)) == 0
    assert (clone / "history.csv").read_text().splitlines() == lines
    assert TOKEN not in job.everything


def fetch(clone: Path) -> bool:
    git(clone, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    return True


def put_other_history(clone: Path, text: str) -> None:
    other = clone.parent / "other"
    git(clone.parent, "clone", "--quiet", "--branch", "datamill-history", "origin.git", str(other))
    (other / "history.csv").write_text(text)
    (other / "other").write_text("a file of somebody\n")
    git(other, "add", "--all")
    git(other, "commit", "--quiet", "-m", "other")
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
            "DATAMILL_WITHIN": "3s",
            "DATAMILL_SCRIPTS": "./runner",
            "DATAMILL_TOKEN": TOKEN,
            "CI_API_V4_URL": platform.address,
            "CI_PROJECT_ID": "forked",
            "CI_MERGE_REQUEST_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(clone, "rev-parse", "main"),
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


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"PULL_REQUEST": ""}, "there is no PULL_REQUEST"),
        ({"TOKEN": ""}, "there is no TOKEN"),
        ({"TOKEN": "wrong"}, "401"),
        ({"GITHUB_API_URL": "http://127.0.0.1:9"}, "failed: URLError"),
        ({"GITHUB_API_URL": "{address}/moved"}, "302"),
        ({"PULL_REQUEST": "7/../8"}, "invalid literal"),
    ],
)
def test_a_comment_that_cannot_be_put_is_shown(
    tmp_path: Path, platform: Platform, variables: dict[str, str], words: str
) -> None:
    (tmp_path / "comment.md").write_text(f"{MARK}\ntext\n")
    usual = {"PULL_REQUEST": "7", "TOKEN": TOKEN, "GITHUB_API_URL": platform.address}
    given = usual | {"GITHUB_REPOSITORY": "owner/name"} | variables
    told = subprocess.run(
        [sys.executable, FOLDER / "post-comment", "github", "comment.md"],
        cwd=tmp_path,
        env={name: value.format(address=platform.address) for name, value in given.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout == f"{MARK}\ntext\n"
    assert words in told.stderr
    assert TOKEN not in told.stdout + told.stderr
    assert platform.own == []


def test_a_long_comment_is_cut_and_its_fold_closed(tmp_path: Path, platform: Platform) -> None:
    (tmp_path / "comment.md").write_text(f"{MARK}\n<details>\n" + "a line\n" * 20_000 + "</details>\n")
    told = subprocess.run(
        [sys.executable, FOLDER / "post-comment", "github", "comment.md"],
        cwd=tmp_path,
        env={
            "PULL_REQUEST": "7",
            "TOKEN": TOKEN,
            "GITHUB_API_URL": platform.address,
            "GITHUB_REPOSITORY": "owner/name",
        },
        check=False,
    )
    assert told.returncode == 0
    (comment,) = platform.own
    assert len(comment) < 65_536
    assert comment.count("<details>") == comment.count("</details>") == 1


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
