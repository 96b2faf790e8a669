"""What `datamill doctor` prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.machine.doctor import doctor
from datamill.execution.worker import WORKER_VARIABLE


def test_the_first_sentence_says_what_this_machine_can_do_and_what_it_lacks() -> None:
    ran = CliRunner().invoke(doctor)
    assert ran.exit_code == 0, ran.output
    assert ran.output.startswith("This machine can run trials in ")
    assert "it lacks" in ran.output.splitlines()[0]


def test_the_json_has_the_same_findings_and_warns_of_those_that_lack_something() -> None:
    told = json.loads(CliRunner().invoke(doctor, ["--json"]).output)
    assert list(told) == ["schema", "answer", "possible", "findings", "warnings"]
    assert told["schema"] == 1
    assert told["possible"] is True
    assert {frozenset(item) for item in told["findings"]} == {
        frozenset({"topic", "standing", "text", "remedy"})
    }
    lacking = [item for item in told["findings"] if item["standing"] != "offered"]
    assert len(told["warnings"]) == len(lacking)


def test_without_a_worker_the_status_is_one_and_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER_VARIABLE, "/nowhere/datamill-worker")
    ran = CliRunner().invoke(doctor)
    assert ran.exit_code == 1
    assert ran.output.startswith("This machine cannot measure yet: its worker does not answer.")
    assert WORKER_VARIABLE in ran.output


def test_a_worker_of_another_version_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "datamill-worker"
    other.write_text("#!/bin/sh\necho '{\"schema\": 99}'\n")
    other.chmod(0o755)
    monkeypatch.setenv(WORKER_VARIABLE, str(other))
    ran = CliRunner().invoke(doctor)
    assert ran.exit_code == 1
    assert "is of another version than this datamill" in ran.output
