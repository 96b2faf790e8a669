"""A commit predicted against the closest profiled ancestor, from tables that are kept or a build."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import msgspec

from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import (
    UNSHALLOW,
    Distance,
    GitHistory,
    follow_parents,
)
from datamill.conduct.selection.store.fleet_origin import read_origin
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, command
from datamill.selection.history.ancestry import Ancestor, find_closest
from datamill.selection.history.records import Program, Version
from datamill.selection.prediction.commit_prediction import CommitPrediction, predict_commit
from datamill.selection.prediction.trained_model import TrainedModel, decode_model

MODEL_FILE = "model.json"


def read_model(project: Project) -> TrainedModel:
    """Return the model of a project's store.

    Raises:
        InputError: none was trained.
    """
    path = project.store.folder / MODEL_FILE
    if not path.exists():
        raise InputError(
            "no predictor was trained",
            where=str(path),
            remedy="Train one: datamill selection train.",
        )
    return decode_model(path.read_bytes(), str(path))


def predict_revision(
    project: Project,
    revision: str,
    against: str | None = None,
    built: Path | None = None,
) -> CommitPrediction:
    """Predict which benchmarks must run for a commit.

    `against` is the older version, by default the closest ancestor that was profiled. `built` is a folder
    with the commit's binaries; without it a commit that was not collected is built in a clean checkout, and
    its tables are kept.

    Raises:
        InputError: the commit or the version is not known, does not build, or no ancestor was profiled.
    """
    history = project.history
    if history is None:
        raise InputError("no repository is here: commits cannot be found", where=str(project.store.folder))
    trained = read_model(project)
    commit = history.resolve(revision)
    versions = {item.commit: item for item in project.store.versions if item.outcome == "built"}
    counted = {item.program for item in project.store.read_counts() if item.instructions is not None}
    profiled = {name: item for name, item in versions.items() if item.program in counted}
    old, hops = _find_old(project, history, commit, against, profiled)
    origin = read_origin(project.store)
    new = _find_new(project, history, commit, versions, built, is_kept=origin is None)
    if new.ancestor == old.commit:
        between = Distance(new.hops, new.lines, new.speed_words)
    else:
        between = history.measure_distance(old.commit, commit)
    days = max(0.0, (new.committed_unix_s - old.committed_unix_s) / 86400)
    features = {
        "commit.days": days,
        "commit.hops": float(hops),
        "commit.lines": float(between.lines),
        "commit.speed_words": float(between.speed_words),
    }
    if project.settings.feature:
        # Imported late: most projects have no features of their own.
        from datamill.conduct.selection.deciding.user_features import read_user_features

        features |= read_user_features(project, old, new)
    store = project.store
    found = predict_commit(
        trained,
        old,
        msgspec.structs.replace(new, hops=hops),
        (store.read_table(old.program), store.read_table(new.program)),
        store.read_profiles(old.program),
        [item.name for item in project.settings.benchmark],
        features,
    )
    notes = []
    if history.is_shallow:
        notes.append("the clone is shallow: a closer profiled ancestor may be missing")
    if commit not in versions and origin is not None:
        notes.append(
            f"{commit[:9]} was built here, and the older version on {origin.machine}: where compilers or "
            "libraries differ, so do the programs"
        )
    if _differ_in_builds(old, new):
        notes.append(
            f"{commit[:9]} was built by another command, or for other binaries, than {old.commit[:9]}: what "
            "differs may be the build"
        )
    return replace(found, warnings=(*found.warnings, *notes)) if notes else found


def _differ_in_builds(old: Version, new: Version) -> bool:
    """Whether different commands built two versions that differ, as far as that was written down."""
    if old.program == new.program or not old.build or not new.build:
        return False
    return old.build.split()[0] != new.build.split()[0]


def _find_old(
    project: Project,
    history: GitHistory,
    commit: str,
    against: str | None,
    profiled: dict[str, Version],
) -> tuple[Version, int]:
    if against is not None:
        named = history.resolve(against)
        if named not in profiled:
            raise InputError(
                f"{against} was not profiled",
                where="against",
                remedy=f"Collect it: {command('selection collect', range=against, stride=1000000)}",
            )
        return profiled[named], history.count_commits(named, commit)
    with follow_parents(history.top, commit) as parents:
        found: Ancestor | None = find_closest(commit, profiled, parents.__getitem__)
    if found is None:
        remedy = "Collect versions before it: datamill selection collect."
        if history.is_shallow:
            remedy = UNSHALLOW
        raise InputError(
            f"no ancestor of {commit[:9]} was profiled", where=str(project.store.folder), remedy=remedy
        )
    return profiled[found.commit], found.hops


def _find_new(
    project: Project,
    history: GitHistory,
    commit: str,
    versions: dict[str, Version],
    built: Path | None,
    *,
    is_kept: bool,
) -> Version:
    """Return the version of a commit, read from its binaries or built where it is not known.

    Without `is_kept` it becomes no version of the store, such as of one whose versions a fleet builds.
    """
    if built is None and commit in versions:
        return versions[commit]
    # Imported late: what was collected reads no program.
    from datamill.conduct.selection.store.kept_forms import check_form

    walked = history.describe(commit)
    store = project.store
    started = time.monotonic()
    # Locked until it is written: what others collect meanwhile would be lost.
    with store.locked():
        collected = (item for item in store.versions if item.commit == commit and item.outcome == "built")
        if built is None and (since := next(collected, None)) is not None:
            # Others collected it since the versions were read.
            return since
        check_form(store)
        if built is not None:
            program, build = _read_built(project, history, commit, built), ""
        else:
            program, build = _build(project, history, commit)
        version = Version(
            commit=commit,
            order=len(store.versions),
            outcome="built",
            subject=walked.subject,
            committed_unix_s=walked.committed_unix_s,
            parents=walked.parents,
            program=program.name,
            build_s=time.monotonic() - started,
            build=build,
        )
        programs = {**store.programs, program.name: program}
        # What was built by hand may be other than the commit: its table is read, but it becomes no version.
        kept = _add(store.versions, version) if is_kept and built is None else store.versions
        store.write_versions(kept, programs.values())
    return version


def _read_built(project: Project, history: GitHistory, commit: str, built: Path) -> Program:
    """The program of binaries that are there."""
    # Imported late: what was collected needs neither builds nor the worker.
    from datamill.conduct.selection.collecting.build_version import NO_BUILD, choose_build
    from datamill.conduct.selection.store.kept_binaries import keep_binaries

    settings = project.settings
    keep = [path for path in settings.keep if (built / path).exists()]
    paths = settings.binaries
    # Only then is asked for the commits of builds: a shallow clone may lack them.
    if any(item.binaries for item in settings.build):
        paths = settings.list_binaries(choose_build(settings, history, commit))
    if not paths:
        raise InputError(
            NO_BUILD,
            where=commit[:9],
            remedy='Write binaries = ["PATH"] at the top of the settings, for commits that no build is for.',
        )
    return keep_binaries(built, paths, keep, project.store)


def _build(project: Project, history: GitHistory, commit: str) -> tuple[Program, str]:
    """The program of a commit, built in a clean checkout, and by what it is built."""
    from datamill.conduct.selection.collecting.build_version import build_version, choose_build
    from datamill.conduct.selection.store.kept_commands import spell_build
    from datamill.execution.command_session import CommandSession
    from datamill.execution.worker import find_worker

    with CommandSession(find_worker()) as worker:
        made = build_version(commit, project.settings, history, project.store, worker, project.here)
    if made.program is None:
        raise InputError(
            f"{commit[:9]} does not build: {made.reason}",
            where=str(history.top),
            remedy="Build it yourself, and name the folder with its binaries: "
            f"{argument('built', verb='selection predict')}.",
        )
    settings = project.settings
    return made.program, spell_build(settings, choose_build(settings, history, commit))


def _add(versions: tuple[Version, ...], version: Version) -> list[Version]:
    others = [item for item in versions if item.commit != version.commit]
    return [*others, version]
