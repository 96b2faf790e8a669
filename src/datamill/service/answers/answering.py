"""What an experiment of the fleet says so far, inferred in a process of its own."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.models import User

from datamill.report.words.answer import Answer
from datamill.results.bundles.bundle_files import write_folder
from datamill.results.bundles.decisions import DECISIONS_FILE
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE
from datamill.results.judgement.screened import SCREENED_FILE
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.child import Budget
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bundles.export import prepare_bundle
from datamill.service.models import FleetExperiment
from datamill.service.progress import count_progress
from datamill.service.watching.places import BUNDLES

#: An analysis may take so much; a larger one is made at home.
_ANSWERING = Budget(
    memory_bytes=2 << 30,
    cpu_s=120,
    elapsed_s=300.0,
    remedy="Take the bundle home with datamill fetch, which answers without bounds.",
)
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
#: Answers that are kept until trials end that they do not know.
_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """The answer of an experiment in words, and all its figures as JSON."""

    words: Answer
    json: str


#: An experiment, when it was submitted, and how many of its trials are in which state.
_Key = tuple[int, float, tuple[tuple[str, int], ...]]
_kept: OrderedDict[_Key, FleetAnswer] = OrderedDict()
_lock = threading.Lock()


def answer_experiment(experiment: FleetExperiment, user: User) -> FleetAnswer:
    """Answer the question of an experiment by the trials that have ended, as `datamill fetch` does.

    Raises:
        BudgetError: the analysis takes more than the coordinator gives one.
        BundleError: the database does not hold what an answer needs.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
    """
    counts = count_progress(experiment, time.time()).trials
    key = (experiment.pk, experiment.submitted_unix_s, tuple(sorted(counts.items())))
    if (kept := _recall(key)) is not None:
        return kept
    with taking_turn(user), TemporaryDirectory(prefix="datamill-answer-") as folder:
        _write_bundle(experiment, user, Path(folder))
        answer = call_bounded(_ANSWERING, answer_folder, folder)
    _keep(key, answer)
    return answer


def answer_folder(folder: str) -> FleetAnswer:
    """Answer the question of a bundle in a folder; runs in a process of its own."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.verbs.answer import answer

    found = answer(folder)
    return FleetAnswer(found.answer, found.json())


def _write_bundle(experiment: FleetExperiment, user: User, folder: Path) -> None:
    place = BUNDLES.take(user.pk)
    try:
        prepared = prepare_bundle(experiment, time.time())
        with prepared.resources:
            write_folder((file for file in prepared.first if file.name in _NEEDED), folder)
    finally:
        place.leave()


def _recall(key: _Key) -> FleetAnswer | None:
    with _lock:
        if (found := _kept.get(key)) is not None:
            _kept.move_to_end(key)
        return found


def _keep(key: _Key, answer: FleetAnswer) -> None:
    with _lock:
        _kept[key] = answer
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
