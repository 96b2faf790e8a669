"""The text of an experiment that is being made, with the stored files that its packages stand for."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.api.submissions import FileKind
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.files.rights import list_unusable_files
from datamill.service.models import FleetExperiment, StoredFile
from datamill.service.pages.new_experiment.form import ExperimentForm, FormData
from datamill.service.pages.new_experiment.stored_packages import (
    ChosenPackage,
    describe_files,
    list_stored,
    parse_chosen,
)
from datamill.service.submissions.submission import Submission

_FILE_NAME = "experiment.toml"


@dataclass(frozen=True, slots=True)
class NeededFile:
    """A package, load or factor that the text names, and the stored file that stands for it, if any."""

    kind: FileKind
    name: str
    field: str
    sha256: str
    offered: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DraftFiles:
    """A text with its files; `problem` says why it is no submission yet."""

    text: str
    question: Experiment | None = None
    needed: tuple[NeededFile, ...] = ()
    submission: Submission | None = None
    problem: InputError | None = None


def find_fork(experiment: FleetExperiment) -> tuple[str, tuple[tuple[FileKind, ChosenPackage], ...]]:
    """Return text and files of an experiment that was submitted, for another one like it."""
    head = msgspec.json.decode(bytes(experiment.head), type=BundleHead)
    packages: list[tuple[FileKind, ChosenPackage]] = []
    packages += [("package", ChosenPackage(item.name, item.sha256)) for item in head.packages]
    packages += [("load", ChosenPackage(item.name, item.sha256)) for item in head.loads]
    packages += [("factor", ChosenPackage(item.name, item.sha256)) for item in head.factors]
    return experiment.text, tuple(packages)


Given = FormData | ExperimentForm | tuple[tuple[FileKind, ChosenPackage], ...]


def read_draft(text: str, given: Given, user: User) -> DraftFiles:
    """Return a text with the files that were chosen for it, else those of the user that bear its names."""
    text = text.replace("\r\n", "\n")
    try:
        question = parse_experiment(text, name=_FILE_NAME)
    except InputError as wrong:
        return DraftFiles(text, problem=wrong)
    needed = _list_needed(question, given, user)
    missing = next((item for item in needed if not item.sha256), None)
    if missing is not None:
        problem = InputError(
            f'no stored file stands for {missing.kind} "{missing.name}" yet',
            remedy="Choose one of those that you uploaded, or upload it in the first step.",
        )
        return DraftFiles(text, question, needed, problem=problem)
    try:
        files = describe_files(user, [(item.kind, ChosenPackage(item.name, item.sha256)) for item in needed])
    except InputError as wrong:
        return DraftFiles(text, question, needed, problem=wrong)
    return DraftFiles(text, question, needed, Submission(text, _FILE_NAME, files))


def _list_needed(question: Experiment, given: Given, user: User) -> tuple[NeededFile, ...]:
    stored = {kind: list_stored(user, kind) for kind in ("package", "load", "factor")}
    wanted: list[tuple[FileKind, str, str]] = []
    wanted += [("package", item.name, f"package-{item.name}") for item in question.packages]
    wanted += [("load", item.name, f"load-{item.name}") for item in question.loads]
    for number, path in enumerate(question.user_factors):
        wanted.append(("factor", _name_factor(path), f"factor-{number}"))
    needed = []
    for kind, name, field in wanted:
        # A load is a package that runs beside another: whatever was uploaded may be either.
        offers = stored["package"] + stored["load"] if kind != "factor" else stored["factor"]
        chosen = _find_given(kind, name, field, given, user) or _find_by_name(name, offers)
        if kind == "factor" and chosen is not None:
            name = chosen.name
        offered = {item.sha256: _spell_stored(item) for item in offers}
        if chosen is not None:
            offered.setdefault(chosen.sha256, f"{chosen.name} ({chosen.sha256[:12]})")
        digest = chosen.sha256 if chosen is not None else ""
        needed.append(NeededFile(kind, name, field, digest, tuple(offered.items())))
    return tuple(needed)


def _find_given(kind: FileKind, name: str, field: str, given: Given, user: User) -> ChosenPackage | None:
    if isinstance(given, tuple):
        return next((item for of, item in given if of == kind and item.name == name), None)
    if isinstance(given, ExperimentForm):
        return next((item for item in given.packages if kind == "package" and item.name == name), None)
    chosen = parse_chosen(f"x@{given.get(field, '')}")
    if chosen is None:
        return None
    # What others brought has no name here.
    mine = not list_unusable_files(user, [chosen.sha256])
    found = StoredFile.objects.filter(pk=chosen.sha256).first() if mine else None
    return ChosenPackage(found.name if found is not None and kind == "factor" else name, chosen.sha256)


def _find_by_name(name: str, offers: list[StoredFile]) -> ChosenPackage | None:
    return next((ChosenPackage(item.name, item.sha256) for item in offers if item.name == name), None)


def _name_factor(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2].removesuffix(".tar.gz")


def _spell_stored(item: StoredFile) -> str:
    return f"{item.name or 'unnamed'} ({item.sha256[:12]})"
