"""What an experiment brings to a fleet: archives named by their content, and what a fleet cannot have."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from datamill.conduct.fleet.pack_submission import (
    naming_file,
    pack_submission,
    refuse_local_folders,
    request_submission,
)
from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.experiment.errors import InputError
from datamill.protocol.api.submissions import SubmissionOptions


def write_experiment(folder: Path, package: str) -> FoundExperiment:
    """Write an experiment about one package, and a folder `sorter` for it."""
    sorter = folder / "sorter"
    sorter.mkdir()
    (sorter / "run.sh").write_text("#!/bin/sh\n")
    (sorter / "run.sh").chmod(0o755)
    head = '[experiment]\nname = "sorts"\nquestion = "Does it sort?"\nreplicates = 2'
    (folder / "experiment.toml").write_text(f"{head}\n\n[[package]]\n{package}\n")
    return read_experiment_file(folder / "experiment.toml")


def test_an_archive_is_named_by_its_content_and_told_of_with_its_size(tmp_path: Path) -> None:
    found = write_experiment(tmp_path, 'name = "sorter"\npath = "sorter"')
    packed = pack_submission(found, tmp_path)
    [told] = packed.files
    content = packed.archives[told.sha256].read_bytes()
    assert hashlib.sha256(content).hexdigest() == told.sha256
    assert (told.name, told.kind, told.bytes, told.has_setup) == ("sorter", "package", len(content), False)


def test_a_request_has_the_text_of_the_file_and_the_options(tmp_path: Path) -> None:
    found = write_experiment(tmp_path, 'name = "sorter"\npath = "sorter"')
    packed = pack_submission(found, tmp_path)
    request = request_submission(found, packed, SubmissionOptions(redundancy=1))
    assert (request.text, request.file_name) == (found.text, "experiment.toml")
    assert (request.packages, request.options.redundancy) == (packed.files, 1)


def test_a_command_in_a_folder_of_this_machine_is_refused(tmp_path: Path) -> None:
    found = write_experiment(tmp_path, f'name = "ls"\ncommand = "ls"\ndirectory = "{tmp_path}"')
    with pytest.raises(InputError, match=r"on this machine only"):
        refuse_local_folders(found)


def test_a_refusal_names_the_file_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    with pytest.raises(InputError) as problem, naming_file(path):
        raise InputError("no machine has it", where="experiment.toml: [factors] pie", remedy="Take it out.")
    assert problem.value.where == f"{path}: [factors] pie"
