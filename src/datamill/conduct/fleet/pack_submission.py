"""What is submitted to a fleet: the experiment file, and what it brings as archives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from datamill.conduct.question.read_files import FoundExperiment
from datamill.experiment.errors import InputError
from datamill.packing.members import Packed, pack_members
from datamill.packing.packages import PackageFacts
from datamill.protocol.api.submissions import (
    FileKind,
    SubmissionOptions,
    SubmissionRequest,
    SubmittedFile,
)


@dataclass(frozen=True, slots=True)
class PackedSubmission:
    """What an experiment brings: what the coordinator is told of each file, and archives by SHA-256."""

    files: tuple[SubmittedFile, ...]
    archives: Mapping[str, Path]


def pack_submission(found: FoundExperiment, folder: Path) -> PackedSubmission:
    """Pack the packages, loads and factors that an experiment brings into archives in a folder."""
    archives: dict[str, Path] = {}

    def pack(path: Path, name: str) -> Packed:
        packed = pack_members(path, folder / f"{len(archives)}-{name}.tar.gz")
        archives[packed.sha256] = packed.archive
        return packed

    files: list[SubmittedFile] = []
    packages: tuple[tuple[FileKind, PackageFacts], ...] = (
        *(("package", facts) for facts in found.packages),
        *(("load", facts) for facts in found.loads),
    )
    for kind, facts in packages:
        packed = pack(facts.path, facts.name)
        files.append(
            SubmittedFile(
                name=facts.name,
                kind=kind,
                sha256=packed.sha256,
                bytes=packed.size_bytes,
                files=facts.files,
                has_setup=facts.has_setup,
                has_collect=facts.has_collect,
                has_profile=facts.has_profile,
            )
        )
    for factor in found.user_factors:
        packed = pack(factor.path, factor.name)
        files.append(
            SubmittedFile(factor.name, "factor", packed.sha256, packed.size_bytes, summary=factor.summary)
        )
    return PackedSubmission(tuple(files), archives)


def request_submission(
    found: FoundExperiment, packed: PackedSubmission, options: SubmissionOptions | None = None
) -> SubmissionRequest:
    """Return what a coordinator is asked: to plan the experiment, and then to run it."""
    return SubmissionRequest(found.text, packed.files, found.path.name, options or SubmissionOptions())


def refuse_local_folders(found: FoundExperiment) -> None:
    """Refuse commands that run in a folder of this machine, which the workers of a fleet do not have.

    Raises:
        InputError: with the package.
    """
    experiment = found.experiment
    for kind, packages in (("package", experiment.packages), ("load", experiment.loads)):
        for package in packages:
            if package.command is not None and package.command.directory:
                raise InputError(
                    f'{kind} "{package.name}" runs in {package.command.directory}, and that is on this '
                    "machine only",
                    where=f"{found.path}: [[{kind}]] directory",
                    remedy='Write directory = "" if the command needs no files of this machine; else make a '
                    "folder with them and a run.sh, and name that as path.",
                )


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Name the experiment file in refusals by its path, which the coordinator does not know.

    Raises:
        InputError: what the coordinator refused.
    """
    try:
        yield
    except InputError as problem:
        if not problem.where.startswith(path.name):
            raise
        where = str(path) + problem.where.removeprefix(path.name)
        raise problem.moved(where) from problem
