"""Accepting an experiment: its stored files are looked at, then its trials are planned for good."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import msgspec
from django.contrib.auth.models import User
from msgspec.structs import replace as replace_struct

from datamill import __version__
from datamill.conduct.question.needed_metrics import check_metrics_can_come
from datamill.design.fleet.profiles import check_profiles_can_come
from datamill.experiment.errors import InputError
from datamill.packing.user_factors import UserFactor
from datamill.protocol.api.submissions import SubmittedFile
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleFactor, BundleHead, BundlePackage
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.departures import find_departure
from datamill.service.bounded_work.turns import GoneError
from datamill.service.coordinator.experiments.follow_ups import EarlierScreening
from datamill.service.coordinator.experiments.submission import (
    TRIALS_AT_ONCE,
    Entry,
    NewExperiment,
    create_experiment,
)
from datamill.service.files.store import AwayError, find_file
from datamill.service.models import StoredFile
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.submissions.planned_apart import INSPECTION, inspect_archive
from datamill.service.submissions.planning import (
    PlannedSubmission,
)
from datamill.service.submissions.quotas import check_room
from datamill.service.submissions.submission import Submission


def submit_experiment(
    submission: Submission,
    planned: PlannedSubmission,
    user: User,
    now_s: float,
    *,
    screening: EarlierScreening | None = None,
    enter_more: Callable[[int], None] = lambda _: None,
) -> int:
    """Look at the files of an experiment, enter it with all its trials, and return its number.

    With `screen = "auto"` that is its screening, which the experiment follows by itself; it is entered with
    the `screening` before it. `enter_more` enters, given the number, what belongs to the same transaction.

    Raises:
        InputError: when a package, load or factor cannot be used.
    """
    # Its files and text are those of the part that is run now.
    submission = replace(planned.submission, options=submission.options)
    head = build_head(submission, planned)
    main = None if planned.main is None else replace_struct(planned.main, options=submission.options)

    def complete(number: int) -> None:
        _check_still_stored(submission)
        enter_more(number)

    new = NewExperiment(
        owner=user,
        text=submission.text,
        experiment=planned.experiment,
        head=head,
        plan=planned.plan,
        hold=submission.options.hold,
        trials=planned.trials,
        once=submission.options.once,
        follow=None if main is None else msgspec.json.encode(main),
        screening=screening,
        enter_more=complete,
    )
    return _enter(new, now_s)


def _check_still_stored(submission: Submission) -> None:
    """Refuse an experiment of which a file was removed, as kept no longer, while it was being planned.

    The writer, which removes files, calls this when it has entered which files the experiment has.

    Raises:
        InputError: with what to do.
    """
    named = [item.sha256 for item in submission.files]
    stored = StoredFile.objects.filter(pk__in=named)
    removed = set(stored.exclude(removed_unix_s=None).values_list("pk", flat=True))
    gone = [item.name for item in submission.files if item.sha256 in removed]
    if gone:
        raise InputError(
            f'the file of "{gone[0]}" was removed meanwhile: no experiment had used it for long',
            where=submission.file_name,
            remedy="Bring it again, and submit again.",
        )


def _enter(new: NewExperiment, now_s: float) -> int:
    """Enter an experiment as the writer, which does other things between two pieces of a large one.

    Raises:
        InputError: when it cannot be entered, or was ended meanwhile.
        GoneError: when the client left.
    """
    check_room(new.owner, len(new.planned))
    if len(new.planned) <= TRIALS_AT_ONCE:
        return run_as_writer(create_experiment, new, now_s)
    departure = find_departure()
    entry = Entry(new, now_s)
    number = run_as_writer(entry.begin)
    try:
        while run_as_writer(entry.add_trials):
            if departure.has_left:
                raise GoneError
        run_as_writer(entry.finish)
    except BaseException:
        run_as_writer(entry.drop)
        raise
    return number


def build_head(submission: Submission, planned: PlannedSubmission) -> BundleHead:
    """Return the head of the bundle that the experiment will be, of what its stored files really hold.

    Raises:
        AwayError: the storage of files does not answer.
        GoneError: the client left.
        InputError: when an archive cannot be read, is unsafe, or is larger than allowed when unpacked, or a
            response needs a metric that a package has nothing to report with.
    """
    packages: dict[str, list[BundlePackage]] = {"package": [], "load": []}
    factors = []
    silent = []
    limits = planned.experiment.limits
    for item in submission.files:
        kept = find_file(item.sha256)
        if kept is None:
            raise InputError(
                f'the file of "{item.name}" is not in the store any more',
                where=submission.file_name,
                remedy="Bring it again, and submit again.",
            )
        size = kept.size_bytes
        try:
            with kept.at_hand() as path:
                facts = call_bounded(INSPECTION, inspect_archive, item.name, path, limits, item.kind)
            if isinstance(facts, UserFactor) and facts.name != item.name:
                raise InputError(f'the factor is called "{facts.name}", not "{item.name}"')
        except (AwayError, GoneError):
            raise
        except InputError as problem:
            raise _name_submitted(problem, item, submission) from None
        if isinstance(facts, UserFactor):
            file = f"factors/{item.name}.tar.gz"
            factors.append(BundleFactor(item.name, file, item.sha256, size, facts.summary))
            continue
        if item.kind == "package" and not facts.has_collect:
            silent.append(item.name)
        packages[item.kind].append(
            BundlePackage(
                name=item.name,
                file=f"{item.kind}s/{item.name}.tar.gz",
                sha256=item.sha256,
                bytes=size,
                files=facts.files,
                has_setup=facts.has_setup,
                has_collect=facts.has_collect,
                has_profile=facts.has_profile,
            )
        )
    # The submission only had what its sender claims about the files.
    check_metrics_can_come(planned.experiment, silent, where=submission.file_name)
    profiled = [item.name for item in packages["package"] if item.has_profile]
    check_profiles_can_come(planned.experiment, profiled, where=submission.file_name)
    order = [package.name for package in planned.experiment.packages]
    packages["package"].sort(key=lambda package: order.index(package.name))
    return BundleHead(
        format=BUNDLE_FORMAT,
        datamill=__version__,
        created_unix_ns=time.time_ns(),
        experiment_file=submission.file_name,
        packages=tuple(packages["package"]),
        loads=tuple(packages["load"]),
        factors=tuple(factors),
    )


def _name_submitted(problem: InputError, item: SubmittedFile, submission: Submission) -> InputError:
    """Return a problem of a stored file that names what the user knows: not where it lies here."""
    where = f'{submission.file_name}: {item.kind} "{item.name}"'
    return problem.moved(where)
