"""Tables of experiments as parts of a data set, made in a separate process and sent from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.models import User
from django.db.models import Sum

from datamill import __version__
from datamill.conduct.fleet.table_parts import write_part_of_bundle
from datamill.protocol.api.bundles import TABLES_SCHEMA, TablePart
from datamill.service.accounts import list_visible_experiments
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.models import FleetExperiment, TrialCount
from datamill.service.states import TrialPurpose, TrialState

_PIECE_BYTES = 1 << 18
#: As an answer, which writes no file.
_TABLING = replace(ANSWERING, file_bytes=4 << 30)


def list_parts(user: User, after: int, most: int) -> list[TablePart]:
    """Return the parts of experiments that a user may see and of which trials counted, by their numbers."""
    visible = list_visible_experiments(user).filter(pk__gt=after).defer("text", "head", "design")
    counts = TrialCount.objects.filter(
        purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED, trials__gt=0, experiment__pk__gt=after
    )
    counted = counts.filter(experiment__in=visible.values("pk")).values_list("experiment_id")
    trials = dict(counted.annotate(all=Sum("trials")).order_by("experiment_id")[:most])
    found = visible.filter(pk__in=trials).select_related("owner").order_by("pk")
    return [describe_part(experiment, trials[experiment.pk]) for experiment in found]


def describe_part(experiment: FleetExperiment, trials: int) -> TablePart:
    """Return an experiment's part, of which so many trials counted."""
    return TablePart(
        experiment.pk,
        experiment.name,
        experiment.owner.username,
        experiment.state,
        trials,
        _name_version(experiment, trials),
    )


def count_trials(experiment: FleetExperiment) -> int:
    """Return how many trials of an experiment's design counted."""
    counts = TrialCount.objects.filter(
        experiment=experiment, purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED
    )
    return int(counts.aggregate(all=Sum("trials", default=0))["all"])


def _name_version(experiment: FleetExperiment, trials: int) -> str:
    """Return what changes with the rows: records that count never change, and never become fewer.

    How they are judged may change with datamill.
    """
    what = f"{TABLES_SCHEMA} {__version__} {experiment.pk} {experiment.submitted_unix_s!r} {trials}"
    return hashlib.sha256(what.encode()).hexdigest()[:16]


def stream_part(experiment: FleetExperiment, user: User) -> Iterator[bytes]:
    """Make the part of an experiment, and return its pieces: what is in memory does not grow with it.

    The table itself is built in a process with a limit.

    Raises:
        BudgetError: the table takes more than the coordinator gives one.
        BundleError: the database does not hold what it needs.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
    """
    folder = TemporaryDirectory(prefix="datamill-table-")
    try:
        bundle, target = Path(folder.name) / "bundle", Path(folder.name) / "part.parquet"
        bundle.mkdir()
        with taking_turn(user):
            write_bundle(experiment, user, bundle)
            call_bounded(_TABLING, write_part_of_bundle, str(bundle), experiment.owner.username, str(target))
    except BaseException:
        folder.cleanup()
        raise
    return _read_pieces(target, folder)


def _read_pieces(target: Path, folder: TemporaryDirectory[str]) -> Iterator[bytes]:
    with folder, target.open("rb") as handle:
        while piece := handle.read(_PIECE_BYTES):
            yield piece
