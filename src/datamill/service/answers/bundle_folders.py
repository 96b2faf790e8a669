"""The part of an experiment's bundle that answers are made of, in a folder."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from django.contrib.auth.models import User

from datamill.results.bundles.bundle_files import write_folder
from datamill.results.bundles.decisions import DECISIONS_FILE
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE
from datamill.results.judgement.screened import SCREENED_FILE
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.child import Budget
from datamill.service.bundles.export import prepare_bundle
from datamill.service.bundles.logs import BundleError
from datamill.service.models import FleetExperiment
from datamill.service.watching.places import BUNDLES

#: An analysis may take so much; a larger one is made at home.
ANSWERING = Budget(
    memory_bytes=2 << 30,
    cpu_s=120,
    elapsed_s=300.0,
    # The scripts of interactive figures are put together once and kept.
    file_bytes=4 << 20,
    remedy="Take the bundle home with datamill fetch, which answers without bounds.",
    draws=True,
    takes_turns=True,
)
#: Reading the records of a million trials, and writing them down.
_READING = Budget(
    memory_bytes=3 << 30,
    cpu_s=600,
    elapsed_s=1800.0,
    file_bytes=64 << 30,
    remedy="Take the bundle home with datamill fetch, which answers without bounds.",
    takes_turns=True,
)
#: One at a time, however many ask, so that those who wait hold no place of those who take bundles home.
_ONE_READER = threading.Lock()
#: What of a bundle an answer is made of.
_NEEDED = frozenset(
    (
        "fleet.json",
        "bundle.json",
        "experiment.toml",
        "design.json",
        ATTEMPTS_FILE,
        "log.jsonl",
        DECISIONS_FILE,
        SCREENED_FILE,
    )
)


def write_bundle(experiment: FleetExperiment, user: User, folder: Path) -> None:
    """Write what answers need of an experiment's bundle to a folder, in a process of its own.

    The interpreter that leases trials would else read each record of theirs.

    Raises:
        BundleError: the database does not hold it.
        BusyError: others' answers are worked out for long.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: it takes more than the coordinator gives an analysis.
    """
    with _ONE_READER:
        place = BUNDLES.take(user.pk)
        try:
            unfit = call_bounded(_READING, write_needed, experiment.pk, str(folder))
        finally:
            place.leave()
    if unfit:
        raise BundleError(unfit)


def write_needed(number: int, folder: str) -> str:
    """Write what answers need of an experiment, and return what is amiss with its records."""
    try:
        prepared = prepare_bundle(FleetExperiment.objects.get(pk=number), time.time(), is_whole=False)
        with prepared.resources:
            write_folder((file for file in prepared.first if file.name in _NEEDED), Path(folder))
    except BundleError as problem:
        return str(problem)
    return ""
