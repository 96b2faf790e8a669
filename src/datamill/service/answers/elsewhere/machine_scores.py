"""Scores of machines: what the fingerprint suite took there, in experiments that a user may read."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.packing.fingerprint_suite import digest_content, digest_suite
from datamill.protocol.api.machines import MachineScore, ScoreList
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.accounts import list_visible_experiments
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.answers.kept import ExperimentKey, Kept, name_progress
from datamill.service.bounded_work.calls import BudgetError, call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bundles.logs import BundleError
from datamill.service.files.store import find_file
from datamill.service.models import FleetExperiment, TrialCount
from datamill.service.states import TrialPurpose, TrialState

log = logging.getLogger("datamill.service")

#: Experiments in which the suite is looked for, and those with it that are read, the newest ones.
MOST_SEARCHED, MOST_READ = 2000, 50
#: What an archive of a member takes at most; others are not opened.
_MOST_ARCHIVE_BYTES = 64 << 10
#: Experiments whose scores are kept until more of their trials end.
_kept: Kept[ExperimentKey, ScoreList] = Kept(256)


def gather_scores(user: User) -> ScoreList:
    """Return the scores of machines by the experiments that a user may read.

    A package counts as a member of the suite by its content. Of each machine and member the valid trials of
    the experiment that was submitted last are taken, all its replicates.

    Raises:
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
    """
    found = list(_find_experiments(user))
    lists = _read_all(found[:MOST_READ], user)
    warnings = [warning for item in lists for warning in item.warnings]
    if len(found) > MOST_READ:
        warnings.append(
            f"{count_nouns(len(found), 'experiment')} ran the suite: scores are of the newest {MOST_READ}"
        )
    return ScoreList(choose_newest(lists), tuple(warnings))


def choose_newest(lists: Iterable[ScoreList]) -> tuple[MachineScore, ...]:
    """Return the scores of each machine and benchmark from the first list that has any, by machine."""
    chosen: dict[tuple[str, str], tuple[MachineScore, ...]] = {}
    for item in lists:
        mine: dict[tuple[str, str], list[MachineScore]] = {}
        for score in item.scores:
            mine.setdefault((score.machine, score.benchmark), []).append(score)
        for key, scores in mine.items():
            chosen.setdefault(key, tuple(scores))
    return tuple(score for key in sorted(chosen) for score in chosen[key])


def _find_experiments(user: User) -> Iterator[tuple[FleetExperiment, dict[str, str]]]:
    """Yield experiments of which trials of the suite may have counted, the newest first, with its members."""
    counted = TrialCount.objects.filter(
        experiment=OuterRef("pk"), purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED, trials__gt=0
    )
    visible = list_visible_experiments(user).filter(Exists(counted)).select_related("owner")
    # Of most of them the head alone is looked at.
    visible = visible.defer("text", "design")
    for experiment in visible.order_by("-pk")[:MOST_SEARCHED].iterator(chunk_size=100):
        head = msgspec.json.decode(bytes(experiment.head), type=BundleHead)
        members = {
            package.name: member
            for package in head.packages
            if package.bytes <= _MOST_ARCHIVE_BYTES and (member := find_member(package.sha256))
        }
        if members:
            yield experiment, members


def find_member(sha256: str) -> str:
    """Return which member of the suite a stored package is, empty when it is none or not in the store."""
    try:
        return _identify(sha256)
    except LookupError:
        return ""


@lru_cache(maxsize=10_000)
def _identify(sha256: str) -> str:
    kept = find_file(sha256)
    if kept is None:
        raise LookupError(sha256)
    with kept.at_hand() as path:
        return digest_suite().get(digest_content(path), "")


def _read_all(found: list[tuple[FleetExperiment, dict[str, str]]], user: User) -> list[ScoreList]:
    keys = [name_progress(experiment) for experiment, _ in found]
    read = {key: kept for key in keys if (kept := _kept.recall(key)) is not None}
    missing = [(key, *item) for key, item in zip(keys, found, strict=True) if key not in read]
    if missing:
        with taking_turn(user):
            for key, experiment, members in missing:
                read[key] = _read(experiment, members, user)
                _kept.keep(key, read[key])
    return [read[key] for key in keys]


def _read(experiment: FleetExperiment, members: dict[str, str], user: User) -> ScoreList:
    """Return the scores of one experiment; one that cannot be read is left out, and it is said."""
    number = experiment.pk
    try:
        with TemporaryDirectory(prefix="datamill-scores-") as folder:
            write_bundle(experiment, user, Path(folder))
            return call_bounded(ANSWERING, read_scores, folder, number, members)
    except BudgetError:
        reason = "it is too large to be read here"
    except BundleError as problem:
        log.error("scores in experiment %d: %s", number, problem)
        reason = "the coordinator's records of it do not fit each other"
    return ScoreList((), (f"scores in experiment {number} are left out: {reason}",))


def read_scores(folder: str, number: int, members: dict[str, str]) -> ScoreList:
    """Read the scores in a bundle; runs in a process of its own."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.verbs.platforms.fleet_bundles import read_suite_scores

    try:
        return read_suite_scores(folder, number, members)
    except InputError as problem:
        return ScoreList((), (f"scores in experiment {number} are left out: {problem.message}",))
