"""Versions that a fleet built, put into the store as those that are built here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from datamill.conduct.selection.collecting.build_version import (
    BuiltVersion,
    choose_build,
    describe_failed_build,
    describe_refusal,
    read_binaries,
)
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.fleet.fetched.fetched_archives import FetchedTrial, unpacked
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.settings import SelectionSettings


def read_builds(
    trials: Sequence[FetchedTrial],
    settings: SelectionSettings,
    history: GitHistory,
    store: SelectionStore,
    scratch: Path,
) -> Mapping[str, BuiltVersion]:
    """Read and keep the binaries that came home; return what became of each commit.

    Args:
        trials: one of each version, whose package is named after the commit.
        settings: which binaries a version has.
        history: the repository.
        store: keeps tables and binaries.
        scratch: a folder that is made and removed.
    """
    return {trial.record.package: _read_build(trial, settings, history, store, scratch) for trial in trials}


def _read_build(
    trial: FetchedTrial,
    settings: SelectionSettings,
    history: GitHistory,
    store: SelectionStore,
    scratch: Path,
) -> BuiltVersion:
    record = trial.record
    setup = record.build.setup if record.build is not None else None
    seconds = setup.wall_time_ns / 1e9 if setup is not None else 0.0
    failure = record.failure
    if failure is not None and failure.phase == "setup" and setup is not None:
        reason = describe_failed_build(
            trial.read_tail("setup.err"),
            timed_out=setup.timed_out,
            signal=setup.signal,
            exit_code=setup.exit_code,
        )
        return BuiltVersion("failed", reason=reason, build_s=seconds)
    if failure is not None:
        return BuiltVersion("failed", reason=f"{failure.message} {failure.remedy}".strip(), build_s=seconds)
    if trial.archive is None:
        return BuiltVersion("failed", reason="what was built was not brought back", build_s=seconds)
    build = choose_build(settings, history, record.package)
    paths = settings.list_binaries(build)
    try:
        with unpacked(trial.archive, scratch) as source:
            return read_binaries(source, paths, settings.keep, store, seconds)
    except InputError as error:
        return BuiltVersion("unreadable", reason=describe_refusal(error), build_s=seconds)
