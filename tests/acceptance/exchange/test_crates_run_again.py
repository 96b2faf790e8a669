"""An experiment handed on as a research object: validated, run again with one command, and taken back."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from acceptance.conftest import EXPERIMENT, Command, assert_refused
from reference.crates.validator import SOFTWARE_HAS_NO_ADDRESS, validate_crate

#: Work that hardly varies, whatever the machine does meanwhile.
COLLECT = """#!/bin/sh
set -e
echo "{{\\"work\\": $(({base} + $$ % 7))}}" > metrics.json
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""
TEXT = EXPERIMENT[: EXPERIMENT.index("[responses")] + (
    '[responses.work]\nunit = "count"\ndirection = "lower"\n[limits]\nrun_timeout = "20s"\n'
)
LAB = "The Lab <https://lab.example/>"


@pytest.fixture
def crate(datamill: Command, make_experiment: Callable[..., Path], tmp_path: Path) -> Path:
    """The crate of an experiment that was run here: b works half as much again as a."""
    file = make_experiment(text=TEXT)
    for name, base in (("a", 1000), ("b", 1500)):
        (tmp_path / name / "collect.sh").write_text(COLLECT.format(base=base))
    ran = datamill("run", file, "--out", "first")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    asked = ("--author", "Doe, Jane", "--organisation", LAB, "--out", "first.zip")
    exported = datamill("export", "first", "--rocrate", *asked)
    assert exported.returncode == 0, exported.stderr
    return tmp_path / "first.zip"


def read_files(folder: Path) -> dict[str, bytes]:
    """Files below a folder but hidden ones, and links, which no crate holds."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {name: content for name, content in found.items() if not name.startswith(".")}


def test_the_validator_accepts_the_crate_of_an_experiment(crate: Path) -> None:
    found = validate_crate(crate, crate.parent)
    assert found.missing == set(), found.told
    assert found.not_followed == SOFTWARE_HAS_NO_ADDRESS, found.told


def test_an_unpacked_crate_is_run_again_by_the_one_command_that_it_names(crate: Path) -> None:
    folder = crate.parent / "committee"
    with zipfile.ZipFile(crate) as archive:
        archive.extractall(folder)
    named = re.findall(r"^ {4}(datamill .+)$", (folder / "README.md").read_text(), re.MULTILINE)
    assert len(named) == 1
    answered = Command(folder).launch(*shlex.split(named[0])[1:])
    assert answered.returncode == 0, answered.stdout + answered.stderr
    assert "The result was reproduced, within ±5%." in answered.stdout, answered.stdout
    # What happens meanwhile is beside the verdict.
    assert "8 of 8 trials to run" in answered.stderr.replace("\n", " ")
    again = [path.parent for path in folder.glob("*/log.jsonl")]
    assert len(again) == 1
    assert len((again[0] / "log.jsonl").read_text().splitlines()) == 8


def test_a_result_that_is_another_is_not_reproduced_and_ends_with_status_1(
    crate: Path, datamill: Command
) -> None:
    # Programs of the same names, which work otherwise.
    (crate.parent / "b" / "collect.sh").write_text(COLLECT.format(base=3000))
    assert datamill("run", "experiment.toml", "--out", "second").returncode == 0
    asked = ("reproduce", "second", "--run", "--check", "--json")
    assert json.loads(datamill(*asked).stdout)["verdict"] == "reproduced"
    judged = datamill("reproduce", "second", crate, "--check", "--json")
    assert (judged.returncode, json.loads(judged.stdout)["verdict"]) == (1, "not reproduced")


def test_what_cannot_be_compared_names_the_crate_and_not_where_it_was_unpacked(
    crate: Path, datamill: Command
) -> None:
    # All of its trials fail, and they are too few to be stopped.
    file = crate.parent / "experiment.toml"
    file.write_text(file.read_text().replace("replicates = 2", "replicates = 1"))
    for name in ("a", "b"):
        (crate.parent / name / "run.sh").write_text("#!/bin/sh\nexit 1\n")
    assert datamill("run", "experiment.toml", "--out", "failed").returncode == 2
    exported = datamill("export", "failed", "--rocrate", "--author", "Doe, Jane", "--out", "failed.zip")
    assert exported.returncode == 0, exported.stderr
    refused = datamill("reproduce", "failed.zip", "--run")
    assert_refused(refused, "failed.zip and small-")
    assert "datamill-crate-" not in refused.stderr


def test_nothing_runs_where_there_is_nothing_to_compare_with_or_the_answer_has_no_place(
    crate: Path, datamill: Command
) -> None:
    assert_refused(datamill("reproduce", crate), "RERUN is missing", "--run")
    assert_refused(datamill("reproduce", crate, "--run", "--json", "--to", "latex"), "two outputs")
    assert_refused(datamill("reproduce", crate, "--run", "--margin", "much"), "--margin")
    assert_refused(datamill("reproduce", "nowhere", "--run"), "nowhere")
    package = crate.parent / "first" / "packages" / "a.tar.gz"
    whole = package.read_bytes()
    package.write_bytes((crate.parent / "first" / "packages" / "b.tar.gz").read_bytes())
    assert_refused(datamill("reproduce", "first", "--run"), "a.tar.gz is not what was measured")
    package.write_bytes(whole)
    (crate.parent / "first" / "log.jsonl").write_bytes(b"")
    assert_refused(datamill("reproduce", "first", "--run"), "nothing was measured")
    assert not list(crate.parent.glob("small-*"))


def test_import_takes_back_the_bundle_byte_by_byte(crate: Path, datamill: Command) -> None:
    imported = datamill("import", crate, "--out", "back")
    assert imported.returncode == 0, imported.stderr
    back, first = read_files(crate.parent / "back"), read_files(crate.parent / "first")
    assert {name: back[name] for name in first} == first
    assert set(back) - set(first) == {"README.md", "CITATION.cff"}
    # What came back can be handed on in turn.
    asked = ("--author", "Doe, Jane", "--organisation", LAB, "--out", "again.zip")
    assert datamill("export", "back", "--rocrate", *asked).returncode == 0
    assert (crate.parent / "again.zip").read_bytes() == crate.read_bytes()


def test_an_organisation_that_cannot_be_read_writes_nothing(crate: Path, datamill: Command) -> None:
    asked = ("export", "first", "--rocrate", "--organisation", "Lab <lab>", "--out", "no.zip")
    assert_refused(datamill(*asked), "cannot be read", "Name <https://address>")
    assert not (crate.parent / "no.zip").exists()
