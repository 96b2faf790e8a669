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
from datamill.service.bounded_work.child import Budget
from datamill.service.bundles.export import prepare_bundle
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
)
#: One at a time: records are read by the interpreter that leases trials, and several readers that rest in
#: turn leave it nothing.
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
    """Write what answers need of an experiment's bundle to a folder.

    Raises:
        BundleError: the database does not hold it.
        FullError: too many bundles are being made already.
    """
    with _ONE_READER:
        place = BUNDLES.take(user.pk)
        try:
            prepared = prepare_bundle(experiment, time.time(), with_events=False)
            with prepared.resources:
                write_folder((file for file in prepared.first if file.name in _NEEDED), folder)
        finally:
            place.leave()
