"""An experiment submitted again as it was, with the same files, on the machines of today."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.protocol.api.submissions import FileKind, SubmissionOptions, SubmittedFile
from datamill.results.bundles.bundle_head import BundleHead, BundlePackage
from datamill.service.bounded_work.places import taking_turn
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.models import FleetExperiment
from datamill.service.publishing.reproductions import enter_rerun
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.submissions.planning import plan_submission
from datamill.service.submissions.submission import Submission
from datamill.service.submissions.submitting import submit_experiment


def make_submission(original: FleetExperiment) -> Submission:
    """Return the submission of the same text with the same files.

    Raises:
        InputError: the original has not ended.
    """
    if original.state not in ENDED_EXPERIMENTS:
        raise InputError("the experiment has not ended", remedy="Run it again when its last trial is in.")
    # What was public is reproduced in the open.
    options = SubmissionOptions(public=True) if original.public else SubmissionOptions()
    return Submission(original.text, "experiment.toml", list_files(original), options)


def list_files(original: FleetExperiment) -> tuple[SubmittedFile, ...]:
    """Return the archives that an experiment brought, as they are named in a submission."""
    head = msgspec.json.decode(bytes(original.head), type=BundleHead)
    kinds: tuple[tuple[FileKind, tuple[BundlePackage, ...]], ...] = (
        ("package", head.packages),
        ("load", head.loads),
    )
    files = [
        SubmittedFile(
            item.name, kind, item.sha256, item.bytes, item.files,
            item.has_setup, item.has_collect, item.has_profile,
        )
        for kind, items in kinds
        for item in items
    ]  # fmt: skip
    files += [
        SubmittedFile(item.name, "factor", item.sha256, item.bytes, summary=item.summary)
        for item in head.factors
    ]
    return tuple(files)


def run_experiment_again(
    original: FleetExperiment,
    user: User,
    margin: float,
    enter_more: Callable[[int, int], None] = lambda _number, _trials: None,
) -> tuple[int, int]:
    """Submit an experiment again, and return the number of the new one, and of its trials.

    `enter_more` enters, given both, what belongs to the same transaction.

    Raises:
        BusyError: too many wait already.
        GoneError: the client left.
        InputError: it cannot be planned today, or its files are gone.
    """
    submission = make_submission(original)
    with taking_turn(user, entering=True), plan_submission(submission, user) as planned:
        if planned.missing:
            raise InputError("files of the experiment are no longer stored here", remedy="Upload them.")
        trials = planned.plan.size.trials

        def enter(number: int) -> None:
            enter_rerun(number, original.pk, margin)
            told = NewEvent(
                EventKind.RUN_AGAIN, user=user.username, experiment_id=original.pk, detail=f"by #{number}"
            )
            add_events([told], time.time())
            enter_more(number, trials)

        return submit_experiment(submission, planned, user, time.time(), enter_more=enter), trials
