"""Experiments: planned, submitted, looked at, cancelled, taken home."""

from __future__ import annotations

import time
from typing import Annotated, Literal

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from msgspec.structs import asdict
from ninja import Body, Path, Query, Router, Status

from datamill.protocol.api.events import EventList
from datamill.protocol.api.experiments import (
    AnswerHead,
    ExperimentLine,
    ExperimentStatus,
    StoppedTrials,
    TrialLine,
    TrialList,
)
from datamill.protocol.api.plans import AcceptedSubmission, RefusedSubmission, SubmissionPlan
from datamill.protocol.api.problems import Problem
from datamill.protocol.api.submissions import SubmissionRequest
from datamill.service.accounts import (
    find_experiment,
    find_own_experiment,
    find_user,
    list_visible_experiments,
)
from datamill.service.answers.answering import answer_when_due
from datamill.service.api.keyed import Once, RequestKey, doing_once
from datamill.service.api.previews import encode_preview
from datamill.service.api.schemas import Number, RequestBody, describe_record
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bundles.export import prepare_bundle
from datamill.service.bundles.tar_stream import send_pieces
from datamill.service.coordinator.experiments.experiments import cancel_experiment, release_experiment
from datamill.service.coordinator.leasing.leases import decode_planned_trial
from datamill.service.coordinator.leasing.standings import list_stopped
from datamill.service.experiment_search import MOST_CHARACTERS, search_experiments
from datamill.service.models import Attempt, Event, FleetExperiment, PackageStanding, Trial, TrialCount
from datamill.service.progress import DONE, count_progress, describe_event, name_state, name_workers
from datamill.service.queue.stages import explain_failed_needs, explain_needs
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import ExperimentState, TrialPurpose, TrialState
from datamill.service.submissions.planned_apart import LOOK
from datamill.service.submissions.planning import (
    plan_submission,
    plan_within,
)
from datamill.service.submissions.preview import describe_plan, find_changes
from datamill.service.submissions.submission import Submission
from datamill.service.submissions.submitting import submit_experiment
from datamill.service.watching.places import BUNDLES

router = Router(tags=["experiments"])
#: Most trials, events or experiments in one answer.
MOST_ROWS = 1000
After = Annotated[int, Query(ge=0, le=2**63 - 1)]
Searched = Annotated[str, Query(max_length=MOST_CHARACTERS, pattern=r"^[^\x00]*$")]
ExperimentNumber = Annotated[Number, Path()]
Submitted = Annotated[SubmissionRequest, RequestBody(), Body()]
_PROBLEM = describe_record(Problem)
_PLAN = describe_record(SubmissionPlan)
_ACCEPTED = describe_record(AcceptedSubmission)
_REFUSED = describe_record(RefusedSubmission)
_LINE = describe_record(ExperimentLine)


@router.post("/plan", response={200: _PLAN, 400: _PROBLEM, 429: _PROBLEM})
def plan(request: HttpRequest, body: Submitted) -> HttpResponse:
    """Show what would run where, and change nothing."""
    user = find_user(request)
    with taking_turn(user):
        preview = plan_within(LOOK, encode_preview, read_submission(body), user)
    return HttpResponse(preview, content_type="application/json; charset=utf-8")


@router.post("", response={200: _ACCEPTED, 400: _PROBLEM, 409: _REFUSED, 429: _PROBLEM})
def submit(
    request: HttpRequest, body: Submitted, request_key: RequestKey = ""
) -> Status[RefusedSubmission] | HttpResponse:
    """Run an experiment; its files must have been uploaded before.

    With the digest of a plan that is no longer its plan, it is refused with the new one.
    """
    with doing_once(request, request_key) as once:
        refusal = None if once.is_done else _submit(body, find_user(request), once)
    return once.respond() if refusal is None else Status(409, refusal)


def _submit(body: SubmissionRequest, user: User, once: Once) -> RefusedSubmission | None:
    """Enter an experiment, or return why its plan or its files are not as they were said to be."""
    submission = read_submission(body)
    with taking_turn(user, entering=True), plan_submission(submission, user) as planned:
        told = describe_plan(planned)
        if changes := find_changes(body.plan, planned):
            return RefusedSubmission(
                changes,
                where=submission.file_name,
                remedy="Look at the new plan, and submit with its digest.",
                plan=told,
            )
        if planned.missing:
            return RefusedSubmission(
                f"{len(planned.missing)} files of the experiment are not here",
                where=submission.file_name,
                remedy="Upload them with PUT /files/SHA256, then submit again.",
                missing_files=tuple(planned.missing),
            )
        submit_experiment(
            submission,
            planned,
            user,
            time.time(),
            enter_more=lambda number: once.keep(AcceptedSubmission(**asdict(told), id=number)),
        )
    return None


def read_submission(body: SubmissionRequest) -> Submission:
    """Return a submission as the planner knows it."""
    return Submission(body.text, body.file_name, body.packages, body.options)


@router.get("", response=describe_record(list[ExperimentLine]))
def list_experiments(
    request: HttpRequest,
    state: ExperimentState | None = None,
    mine: bool = False,
    search: Searched = "",
    before: After = 0,
) -> list[ExperimentLine]:
    """List 1000 experiments, the latest first; ask for older ones with `before`, the last one's number.

    `search` is words that all stand in an experiment's name, file, owner or machines.
    """
    found = list_visible_experiments(request.user).select_related("owner").defer("text", "head", "design")
    if state is not None:
        found = found.filter(state=state)
    if mine:
        found = found.filter(owner_id=request.user.pk)
    if before:
        found = found.filter(pk__lt=before)
    found = search_experiments(found, search)
    return [describe_experiment(item) for item in found.order_by("-pk")[:MOST_ROWS]]


@router.get("/{number}", response={200: describe_record(ExperimentStatus), 404: _PROBLEM})
def show(request: HttpRequest, number: ExperimentNumber) -> ExperimentStatus:
    """Tell how far an experiment is."""
    experiment = find_experiment(request.user, number)
    progress = count_progress(experiment, time.time())
    return ExperimentStatus(
        **asdict(describe_experiment(experiment)),
        reboot=experiment.reboot,
        trials=progress.trials,
        debug_trials=progress.debug_trials,
        workers=progress.workers,
        finish_s=progress.finish_s,
        stopped=tuple(_describe_stopped(item) for item in list_stopped(experiment.pk)),
        stages=progress.stages,
    )


def _describe_stopped(standing: PackageStanding) -> StoppedTrials:
    assert standing.stopped_unix_s is not None, "the table demands a time of what is stopped"
    return StoppedTrials(standing.package, standing.package_sha256, standing.reason, standing.stopped_unix_s)


@router.post("/{number}/cancel", response={200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM})
def cancel(request: HttpRequest, number: ExperimentNumber) -> ExperimentLine:
    """End an experiment; what was measured stays."""
    find_own_experiment(request.user, number)
    run_as_writer(cancel_experiment, number, find_user(request), time.time())
    return describe_experiment(find_experiment(request.user, number))


@router.post("/{number}/release", response={200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM})
def release(request: HttpRequest, number: ExperimentNumber) -> ExperimentLine:
    """Let the design of an experiment run that waits for someone to look at its debug trials."""
    find_own_experiment(request.user, number)
    run_as_writer(release_experiment, number, find_user(request), time.time())
    return describe_experiment(find_experiment(request.user, number))


@router.get("/{number}/trials", response={200: describe_record(TrialList), 404: _PROBLEM})
def list_trials(
    request: HttpRequest,
    number: ExperimentNumber,
    state: TrialState | Literal["done"] | None = None,
    after: After = 0,
) -> TrialList:
    """List trials in the order in which they were planned."""
    experiment = find_experiment(request.user, number)
    if state == DONE:
        chosen = Q(state=TrialState.COUNTED) & ~Q(purpose=TrialPurpose.DESIGN)
    elif state == TrialState.COUNTED:
        chosen = Q(state=state, purpose=TrialPurpose.DESIGN)
    else:
        chosen = Q() if state is None else Q(state=state)
    page = _find_trials(experiment, chosen, after)
    more, page = len(page) > MOST_ROWS, page[:MOST_ROWS]
    return TrialList(_describe_trials(experiment, page), page[-1].pk if more else None)


def _find_trials(experiment: FleetExperiment, chosen: Q, after: int) -> list[Trial]:
    """Return the next trials, one more than a page has; a look at the index for each state that there is."""
    counts = TrialCount.objects.filter(chosen, experiment=experiment, trials__gt=0)
    found: list[int] = []
    for state in counts.order_by("state").values_list("state", flat=True).distinct():
        trials = Trial.objects.filter(chosen, experiment=experiment, state=state, pk__gt=after)
        found += trials.order_by("pk").values_list("pk", flat=True)[: MOST_ROWS + 1]
    ids = sorted(found)[: MOST_ROWS + 1]
    return list(Trial.objects.filter(pk__in=ids).select_related("worker").order_by("pk"))


def _describe_trials(experiment: FleetExperiment, trials: list[Trial]) -> tuple[TrialLine, ...]:
    latest: dict[int, tuple[str, str]] = {}
    attempts = Attempt.objects.filter(trial__in=[trial.pk for trial in trials]).order_by("number")
    for trial_id, outcome, reason in attempts.values_list("trial_id", "outcome", "reason"):
        latest[trial_id] = (outcome, reason)
    needs, failures = explain_needs(experiment.pk, trials), explain_failed_needs(trials)
    told = []
    for trial in trials:
        needed, why_not = needs.get(trial.pk, ("", ""))
        plan = decode_planned_trial(bytes(trial.plan))
        outcome, reason = latest.get(trial.pk, ("", ""))
        told.append(
            TrialLine(
                trial_id=trial.trial_id,
                purpose=trial.purpose,
                position=trial.position,
                worker=trial.worker.name,
                package=plan.package,
                levels=dict(plan.levels),
                state=name_state(trial.purpose, trial.state),
                attempts=trial.attempts,
                outcome=outcome,
                failure=reason or why_not or failures.get(trial.pk, ""),
                needs=needed,
            )
        )
    return tuple(told)


@router.get("/{number}/events", response={200: describe_record(EventList), 404: _PROBLEM})
def list_events(request: HttpRequest, number: ExperimentNumber, after: After = 0) -> EventList:
    """List what happened in an experiment, oldest first."""
    experiment = find_experiment(request.user, number)
    return page_events(Event.objects.filter(experiment_id=experiment.pk), after)


def page_events(events: QuerySet[Event], after: int) -> EventList:
    """Return a page of events with the names of workers."""
    found = list(events.filter(pk__gt=after).order_by("pk")[: MOST_ROWS + 1])
    more, found = len(found) > MOST_ROWS, found[:MOST_ROWS]
    names = name_workers(found)
    return EventList(
        tuple(describe_event(event, names.get(event.worker_id, "")) for event in found),
        found[-1].pk if more else None,
    )


@router.get(
    "/{number}/answer",
    response={200: describe_record(AnswerHead), 404: _PROBLEM, 409: _PROBLEM, 429: _PROBLEM},
)
def answer(request: HttpRequest, number: ExperimentNumber) -> HttpResponse:
    """Answer the question of an experiment: `datamill report --json`; 409 where it is too early to look."""
    found = answer_when_due(find_experiment(request.user, number), find_user(request))
    return HttpResponse(found.json, content_type="application/json; charset=utf-8")


@router.get("/{number}/bundle", response={200: None, 404: _PROBLEM})
def bundle(request: HttpRequest, number: ExperimentNumber) -> StreamingHttpResponse:
    """Send the bundle as a tar archive: of an experiment that has not ended, what there is."""
    return send_bundle(request, find_experiment(request.user, number))


def send_bundle(request: HttpRequest, experiment: FleetExperiment) -> StreamingHttpResponse:
    """Answer with the bundle of an experiment.

    Raises:
        BundleError: when the database does not hold what it needs.
        FullError: when too many are being sent already.
    """
    place = BUNDLES.take(find_user(request).pk)
    try:
        prepared = prepare_bundle(experiment, time.time())
    except BaseException:
        place.leave()
        raise
    pieces = send_pieces(prepared.stream(), place.leave)
    response = StreamingHttpResponse(pieces, content_type="application/x-tar")
    response["Content-Disposition"] = f'attachment; filename="{experiment.name}-{experiment.pk}.tar"'
    return response


def describe_experiment(experiment: FleetExperiment) -> ExperimentLine:
    """Return an experiment as a list shows it."""
    return ExperimentLine(
        id=experiment.pk,
        name=experiment.name,
        owner=experiment.owner.username,
        public=experiment.public,
        state=experiment.state,
        state_reason=experiment.state_reason,
        submitted_unix_s=experiment.submitted_unix_s,
        ended_unix_s=experiment.ended_unix_s,
    )
