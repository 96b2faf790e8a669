"""From what a user submits to an experiment with its plan: which workers, which trials, until when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import User

from datamill.conduct.question.needed_metrics import check_metrics_can_come
from datamill.design.fleet.fleet_records import Candidate, FleetPlan, Ineligible
from datamill.design.fleet.profiles import check_profiles_can_come
from datamill.design.fleet.reboots import settle_reboots, varies_reboots
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.offers import withdraw_build_policy
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.experiment.quantities import format_size
from datamill.protocol.api.submissions import SubmittedFile
from datamill.results.tables.factor_names import check_factor_names
from datamill.service.bounded_work.calls import BudgetError, call_bounded
from datamill.service.bounded_work.child import Budget
from datamill.service.coordinator.joining.hardware import (
    describe_candidate,
    find_guest_objection,
    read_inventory,
    read_policy,
)
from datamill.service.coordinator.joining.policies import (
    ShippedFile,
    find_isolation_objection,
    find_needs_objection,
    find_policy_objection,
    list_all_needs,
)
from datamill.service.coordinator.joining.ways import find_way
from datamill.service.coordinator.registry.rules import (
    check_factor_rules,
    list_forbidden,
    withhold_forbidden,
)
from datamill.service.files.disk import is_sha256
from datamill.service.files.rights import list_unusable_files
from datamill.service.models import FleetWorker, Quarantine
from datamill.service.states import WorkerState
from datamill.service.submissions.parts import (
    MainPart,
    drop_screen,
    make_main_submission,
    split_submission,
)
from datamill.service.submissions.planned_apart import WHOLE, plan_apart
from datamill.service.submissions.stored_trials import StoredTrials, name_trials_file
from datamill.service.submissions.submission import Submission
from datamill.service.submissions.trial_estimates import estimate_trial_times, list_busy_times, mean_time

T = TypeVar("T")
#: Largest archive that is taken, whatever `[limits]` says.
MOST_PACKAGE_BYTES: int = settings.LARGEST_FILE_BYTES
#: Most trials of an experiment: beyond it a typing error is more likely than a plan.
MOST_TRIALS = 2_000_000


@dataclass(frozen=True, slots=True)
class PlannedSubmission:
    """A submission with its plan; `missing` are the SHA-256 of files that its user has to bring first.

    `unbuilt` are packages without a `setup.sh`; `trials` are those of the design, where they were made.
    `submission` is what is run now: with `screen = "auto"` the screening, which `main` follows.
    """

    submission: Submission
    experiment: Experiment
    plan: FleetPlan
    missing: tuple[str, ...]
    unbuilt: tuple[str, ...] = ()
    trials: StoredTrials | None = None
    main: MainPart | None = None


@contextmanager
def plan_submission(submission: Submission, user: User) -> Iterator[PlannedSubmission]:
    """Choose workers for a submission and make its trials, which are there until the block ends.

    It has none where files are missing.

    Raises:
        InputError: when the text or a file cannot be used, or no workers give what is asked for.
    """
    trials_file = name_trials_file(settings.DATA_FOLDER)
    try:
        planned = plan_within(WHOLE, make_plan, submission, user, trials_file)
        if not planned.missing:
            planned = replace(planned, trials=StoredTrials(trials_file, planned.plan.size.trials))
        yield planned
    finally:
        trials_file.unlink(missing_ok=True)


def plan_within(
    budget: Budget, function: Callable[..., T], submission: Submission, user: User, *rest: Path | None
) -> T:
    """Return what a function makes of a submission, in `datamill serve` in a process of its own.

    There, and not beside the thread that leases trials: reading the fleet takes longer than planning.

    Raises:
        InputError: what it raises, or that it takes more than its budget.
    """
    try:
        return call_bounded(budget, function, submission, user, *rest)
    except BudgetError as problem:
        raise problem.moved(submission.file_name) from problem


def make_plan(submission: Submission, user: User, trials_file: Path | None = None) -> PlannedSubmission:
    """Return the plan of a submission here and now; its trials go to a file unless none is named.

    Raises:
        InputError: when the text or a file cannot be used, or no workers give what is asked for.
    """
    first, main = split_submission(submission)
    if main is None:
        return _plan_part(submission, user, trials_file)
    planned = replace(_plan_part(first, user, trials_file), main=main)
    # What cannot be planned is known before anything is measured for it.
    unscreened = drop_screen(main.text, name=main.file_name)
    follows = _plan_part(make_main_submission(main, unscreened), user, None)
    size = f"{format_count(follows.plan.size.trials)} trials"
    on = count_nouns(len(follows.plan.chosen), "machine")
    grows = follows.experiment.until is not None
    warning = "this is the screening that comes first; the experiment is planned when it has ended, with " + (
        f"at most {size} on {on}; the rounds that its rule needs take twice as many for each that survives"
        if grows
        else f"{size} on {on}, and twice as many for each that survives"
    )
    plan = replace(planned.plan, warnings=(warning, *planned.plan.warnings))
    missing = tuple(dict.fromkeys((*planned.missing, *follows.missing)))
    return replace(planned, plan=plan, missing=missing)


def _plan_part(submission: Submission, user: User, trials_file: Path | None) -> PlannedSubmission:
    experiment = read_submission(submission)
    if experiment.fleet.reboot == "auto":
        return _plan_strongest(submission, experiment, user, trials_file)
    return _plan_settled(submission, experiment, user, trials_file)


def _plan_strongest(
    submission: Submission, experiment: Experiment, user: User, trials_file: Path | None
) -> PlannedSubmission:
    """Plan on machines that allow reboots before trials, and where that cannot be, on any without them."""
    rebooting = replace(experiment, fleet=replace(experiment.fleet, reboot="trial"))
    if not varies_reboots(experiment):
        try:
            return _plan_settled(submission, rebooting, user, trials_file)
        except InputError:
            candidates, _ = list_candidates(submission, experiment, user)
            if all(candidate.reboot for candidate in candidates):
                # Reboots are not what it lacks.
                raise
    planned = _plan_settled(submission, experiment, user, trials_file)
    machines = (*planned.plan.chosen, *planned.plan.spares)
    settled = settle_reboots(planned.experiment, machines)
    if settled.fleet.reboot == "trial" or varies_reboots(settled):
        return replace(planned, experiment=settled)
    barring = [item.name for item in machines if not item.reboot]
    who = "their owners allow" if len(barring) > 1 else "its owner allows"
    warning = f"no machine is rebooted before trials: {list_first(barring, 3)}: {who} no reboots"
    plan = replace(planned.plan, warnings=(*planned.plan.warnings, warning))
    return replace(planned, experiment=settled, plan=plan)


def _plan_settled(
    submission: Submission, experiment: Experiment, user: User, trials_file: Path | None
) -> PlannedSubmission:
    candidates, excluded = list_candidates(submission, experiment, user)
    if not candidates:
        raise _explain_nobody(excluded)
    missing = list_unusable_files(user, [item.sha256 for item in submission.files])
    times = estimate_trial_times([item.sha256 for item in _list_packages(submission)], experiment)
    try:
        plan = plan_apart(
            experiment, candidates, mean_time(times), MOST_TRIALS, None if missing else trials_file
        )
    except InputError as problem:
        where = problem.where or submission.file_name
        if where.startswith("["):
            where = f"{submission.file_name}: {where}"
        also = "".join(f"\n{item.name}: {item.reason}" for item in excluded)
        raise problem.moved(where, also=also) from problem
    plan = replace(plan, ineligible=(*excluded, *plan.ineligible))
    unbuilt = tuple(item.name for item in _list_packages(submission) if not item.has_setup)
    return PlannedSubmission(submission, experiment, plan, tuple(missing), unbuilt)


def read_submission(submission: Submission) -> Experiment:
    """Return the experiment of a submission, with its options in the place of what the file says.

    Raises:
        InputError: when the text is no experiment, or its files are not those that come with it.
    """
    experiment = parse_experiment(submission.text, name=submission.file_name)
    options = submission.options
    fleet = experiment.fleet
    changed = {
        name: value
        for name in ("reboot", "debug", "redundancy", "public")
        if (value := getattr(options, name)) is not None
    }
    experiment = replace(experiment, fleet=replace(fleet, **changed))
    _check_files(submission, experiment)
    silent = [item.name for item in _list_packages(submission) if not item.has_collect]
    check_metrics_can_come(experiment, silent, where=submission.file_name)
    profiled = [item.name for item in _list_packages(submission) if item.has_profile]
    check_profiles_can_come(experiment, profiled, where=submission.file_name)
    return experiment


def _check_files(submission: Submission, experiment: Experiment) -> None:
    """Refuse files that are not those of the experiment, or are too large, before anything is uploaded."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for item in submission.files:
        by_kind[item.kind].append(item.name)
        most = min(experiment.limits.package_bytes, MOST_PACKAGE_BYTES)
        if item.bytes > most:
            raise InputError(
                f'{item.kind} "{item.name}" has {format_size(item.bytes)}, and at most {format_size(most)} '
                "are taken",
                where=submission.file_name,
                remedy="Make it smaller"
                + (
                    ", or raise [limits] package."
                    if experiment.limits.package_bytes < MOST_PACKAGE_BYTES
                    else "; let setup.sh make what is large."
                ),
            )
        if not is_sha256(item.sha256):
            raise InputError(f'{item.kind} "{item.name}" has no SHA-256', where=submission.file_name)
    for kind, wanted in (("package", experiment.packages), ("load", experiment.loads)):
        names = [package.name for package in wanted]
        if sorted(by_kind[kind]) != sorted(names):
            raise InputError(
                f"the experiment has the {kind}s {', '.join(names) or '(none)'}, and there came "
                f"{', '.join(by_kind[kind]) or '(none)'}",
                where=submission.file_name,
            )
    brought = len(experiment.user_factors) + len(experiment.sweeps)
    if len(by_kind["factor"]) != brought:
        raise InputError(
            f"the experiment brings {brought} factors, and there came {len(by_kind['factor'])}",
            where=submission.file_name,
        )
    check_factor_names(experiment, tuple(by_kind["factor"]))
    factors = {item.sha256: item.name for item in submission.files if item.kind == "factor"}
    check_factor_rules(experiment, factors, list_forbidden(), submission.file_name)
    digests = {item.sha256 for item in submission.files}
    barred = Quarantine.objects.filter(sha256__in=digests, lifted_unix_s=None).first()
    if barred is not None:
        name = next(item.name for item in submission.files if item.sha256 == barred.sha256)
        raise InputError(
            f'package "{name}" is in quarantine: {barred.reason}',
            where=submission.file_name,
            remedy="Correct the package, or ask an administrator to lift the quarantine.",
        )


def list_candidates(
    submission: Submission, experiment: Experiment, user: User
) -> tuple[list[Candidate], list[Ineligible]]:
    """Return the workers that might take part, and those whose state or owner forbids it."""
    candidates, excluded = [], []
    busy = list_busy_times()
    forbidden = list_forbidden()
    builds = any(item.has_setup for item in _list_packages(submission))
    shipped = [ShippedFile(item.kind, item.name, item.sha256, item.bytes) for item in submission.files]
    needs = list_all_needs(experiment)
    for worker in FleetWorker.objects.exclude(state=WorkerState.REMOVED).order_by("worker_id"):
        policy = read_policy(worker)
        reason = (
            _find_state_objection(worker)
            or find_policy_objection(policy, user.username, shipped)
            or find_needs_objection(policy, needs)
            or find_isolation_objection(policy, experiment.isolation, read_inventory(worker).isolation)
            or find_guest_objection(worker, experiment.isolation)
        )
        if reason:
            excluded.append(Ineligible(worker.name, reason, _phrase_way(worker, experiment, user, shipped)))
            continue
        candidate = describe_candidate(worker, busy.get(worker.worker_id, 0.0), experiment.isolation)
        candidate = replace(candidate, offers=withhold_forbidden(candidate.offers, forbidden))
        if not builds:
            candidate = replace(candidate, offers=withdraw_build_policy(experiment, candidate.offers))
        candidates.append(candidate)
    return candidates, excluded


def _phrase_way(
    worker: FleetWorker, experiment: Experiment, user: User, shipped: Sequence[ShippedFile]
) -> str:
    """Return what its owner or the submitter would have to change; empty where that alone does not help."""
    if _find_state_objection(worker) or find_guest_objection(worker, experiment.isolation):
        return ""
    way = find_way(
        read_policy(worker),
        user.username,
        shipped,
        list_all_needs(experiment),
        wanted=experiment.isolation,
        strongest=read_inventory(worker).isolation,
        guests=not find_guest_objection(worker, "guest"),
    )
    return "" if way is None else way.phrase(worker.name)


def _find_state_objection(worker: FleetWorker) -> str:
    if worker.state == WorkerState.DRAINED:
        return f"it is drained: {worker.state_reason or 'its owner wants it'}"
    if worker.state == WorkerState.AWAY:
        return "it is away: its worker does not run"
    if worker.state == WorkerState.SILENT:
        return "it missed a deadline and has not been heard of since"
    return ""


def _explain_nobody(excluded: Sequence[Ineligible]) -> InputError:
    if not excluded:
        return InputError(
            "the fleet has no workers",
            remedy="Add a machine to the fleet: datamill worker token here, datamill worker join there.",
        )
    reasons = "".join(f"\n{item.name}: {item.reason}" for item in excluded)
    # The shortest asks least of people.
    ways = sorted((item.way for item in excluded if item.way), key=len)
    return InputError(
        f"no worker of the fleet can run this experiment{reasons}",
        remedy=ways[0] if ways else "Relax what excludes them, or add another machine to the fleet.",
    )


def _list_packages(submission: Submission) -> list[SubmittedFile]:
    return [item for item in submission.files if item.kind == "package"]
