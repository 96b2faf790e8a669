"""Jobs of the three platforms: steps of our files, executed as a runner does."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from acceptance.conftest import BIN
from acceptance.gate.review_platform import Platform

FOLDER = Path(__file__).parents[3] / "integrations"
ACTIONS = {"github": FOLDER / "github" / "action.yml", "forgejo": FOLDER / "forgejo" / "action.yml"}


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
    known |= {"inputs.package": "", "inputs.within": "10s", **values}
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
