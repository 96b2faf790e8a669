"""Pages of one experiment, and what can be done to it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.service.accounts import (
    find_experiment,
    find_own_experiment,
    find_user,
    is_admin,
)
from datamill.service.answers.verdicts import recall_verdict
from datamill.service.api.experiments import send_bundle
from datamill.service.api.stream import send_events
from datamill.service.bundles.logs import BundleError
from datamill.service.coordinator.experiments.experiments import cancel_experiment, release_experiment
from datamill.service.coordinator.leasing.standings import list_stopped
from datamill.service.models import Attempt, Event, FleetExperiment, FleetWorker, Publication, Rerun, Trial
from datamill.service.pages.access import member_page, refuse, show_page
from datamill.service.pages.experiments.events import tell_events
from datamill.service.pages.experiments.trials.trial_counts import TRIAL_WORDS, TrialCounts
from datamill.service.pages.experiments.trials.trial_facts import (
    ShownPiece,
    ShownTrial,
    list_output,
    show_trial,
)
from datamill.service.pages.experiments.trials.trial_table import list_trials, parse_place
from datamill.service.progress import count_progress
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import ENDED_EXPERIMENTS, TrialState
from datamill.service.watching.changes import find_debug_trials, find_latest
from datamill.service.watching.places import FullError

_FEW_EVENTS = 15
_MOST_EVENTS = 500


@dataclass(frozen=True, slots=True)
class ShownDebugTrial:
    """A debug trial with its latest attempt, and what that printed."""

    trial: ShownTrial
    attempt: Attempt | None
    output: list[ShownPiece]


@require_GET
@member_page
def show_experiment(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """One experiment: how far it is, its trials, and what happened to it."""
    experiment = find_experiment(find_user(request), experiment_id)
    # Where the page stands is looked up before anything else: what comes in meanwhile is told by the stream.
    cursor = find_latest(experiment.pk, find_debug_trials(experiment.pk))
    context = _describe(request, experiment) | _list_trials(request, experiment)
    kept = recall_verdict(experiment)
    context |= {
        "headline": "" if kept is None else kept.headline,
        "question": _read_stored_experiment(experiment),
        "debug_trials": _list_debug_trials(experiment, cursor.output),
        "has_reruns": Rerun.objects.filter(Q(pk=experiment.pk) | Q(original_id=experiment.pk)).exists(),
        "published": Publication.objects.filter(experiment=experiment).order_by("-published_unix_s"),
        "cursor": cursor.to_text(),
    }
    return show_page(request, "experiments/experiment.html", context, section="experiments")


@require_GET
@member_page
def show_progress(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The part of an experiment's page that changes while it runs."""
    experiment = find_experiment(find_user(request), experiment_id)
    context = _describe(request, experiment) | {
        "debug_trials": _list_debug_trials(experiment, 0),
        "again": True,
    }
    counted = "yes" if context["counts"].counted else "no"
    context["changed"] = (request.GET.get("state"), request.GET.get("counted")) != (experiment.state, counted)
    return show_page(request, "experiments/parts/progress.html", context)


@require_GET
@member_page
def show_trials(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The table of an experiment's trials."""
    experiment = find_experiment(find_user(request), experiment_id)
    context = {"experiment": experiment} | _list_trials(request, experiment)
    return show_page(request, "experiments/parts/trials.html", context)


@require_GET
@member_page
def show_events(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """What happened to an experiment: the latest events, or all."""
    experiment = find_experiment(find_user(request), experiment_id)
    found = Event.objects.filter(experiment_id=experiment.pk).order_by("-id")[:_MOST_EVENTS]
    context = {"experiment": experiment, "events": tell_events(found)}
    return show_page(request, "experiments/experiment_events.html", context, section="experiments")


@require_POST
@member_page
def cancel(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """End an experiment of one's own now."""
    experiment = find_own_experiment(find_user(request), experiment_id)
    run_as_writer(cancel_experiment, experiment.pk, find_user(request), time.time())
    messages.info(request, "Cancelled. What was measured before is kept.", extra_tags="info")
    return redirect("experiment", experiment_id)


@require_POST
@member_page
def release(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """Let the design of an experiment of one's own begin that waits for it."""
    experiment = find_own_experiment(find_user(request), experiment_id)
    run_as_writer(release_experiment, experiment.pk, find_user(request), time.time())
    messages.success(request, "Released: its trials are handed out from now on.", extra_tags="good")
    return redirect("experiment", experiment_id)


@require_GET
@member_page
def fork(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """Open the file of an experiment for another one like it."""
    find_experiment(find_user(request), experiment_id)
    return redirect(f"{reverse('new-file')}?{urlencode({'fork': experiment_id})}")


@require_GET
@member_page
def stream(request: HttpRequest, experiment_id: int) -> HttpResponseBase:
    """What happens from now on, as server-sent events: what the API sends, begun where the page stands."""
    experiment = find_experiment(find_user(request), experiment_id)
    last = request.headers.get("Last-Event-ID") or request.GET.get("from", "")
    try:
        return send_events(request, experiment.pk, last, brief=True)
    except FullError as problem:
        return HttpResponse(f"{problem}\n", status=429, content_type="text/plain; charset=utf-8")


@require_GET
@member_page
def download_bundle(request: HttpRequest, experiment_id: int) -> HttpResponseBase:
    """The bundle as a tar archive; of an experiment that has not ended, what there is."""
    experiment = find_experiment(find_user(request), experiment_id)
    try:
        return send_bundle(request, experiment)
    except FullError as full:
        error = InputError(str(full), remedy="Wait until one has arrived, or end one.")
        return refuse(request, error, "Too many bundles at once", 429)
    except BundleError as problem:
        # A bundle that would be wrong is not sent.
        error = InputError(str(problem), remedy="Tell the people who run this coordinator.")
        return refuse(request, error, "The coordinator cannot vouch for this bundle", 500)


@require_GET
@member_page
def download_file(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The experiment file, as it was submitted."""
    experiment = find_experiment(find_user(request), experiment_id)
    response = HttpResponse(experiment.text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="experiment.toml"'
    return response


def _describe(request: HttpRequest, experiment: FleetExperiment) -> dict[str, Any]:
    """Return what the head of an experiment's page and its progress show."""
    is_open = experiment.state not in ENDED_EXPERIMENTS
    progress = count_progress(experiment, time.time())
    states = dict(FleetWorker.objects.filter(name__in=progress.workers).values_list("name", "state"))
    mine = experiment.owner_id == request.user.pk or is_admin(find_user(request))
    events = Event.objects.filter(experiment_id=experiment.pk).order_by("-id")[:_FEW_EVENTS]
    return {
        "experiment": experiment,
        "mine": mine,
        "is_open": is_open,
        "has_answer": not is_open or progress.trials.get(TrialState.COUNTED, 0) > 0,
        "counts": TrialCounts(progress.trials),
        "stages": progress.stages,
        "finish_s": progress.finish_s if is_open else None,
        "workers": [
            (name, states.get(name, ""), TrialCounts(counts)) for name, counts in progress.workers.items()
        ],
        "events": tell_events(events),
        "stopped": list_stopped(experiment.pk),
    }


def _list_trials(request: HttpRequest, experiment: FleetExperiment) -> dict[str, Any]:
    """Return a page of trials, of the state that is asked for."""
    asked = request.GET
    state = asked.get("state", "") if asked.get("state") in TRIAL_WORDS else ""
    name = asked.get("worker", "")
    page = list_trials(
        experiment,
        [state] if state else [],
        name,
        after=parse_place(asked.get("after")),
        before=parse_place(asked.get("before")),
    )
    return {
        "trials": [show_trial(trial) for trial in page.trials],
        "page": page,
        "state": state,
        "worker": name,
        "trial_states": TRIAL_WORDS,
    }


def _list_debug_trials(experiment: FleetExperiment, latest_output: int) -> list[ShownDebugTrial]:
    """Return the debug trials with what they printed up to a piece."""
    listed = []
    trials = Trial.objects.filter(pk__in=find_debug_trials(experiment.pk))
    for trial in trials.select_related("worker").order_by("id"):
        attempt = trial.attempt_set.order_by("-number").first()
        listed.append(
            ShownDebugTrial(
                show_trial(trial),
                attempt,
                list_output(attempt, latest_output) if attempt and latest_output else [],
            )
        )
    return listed


def _read_stored_experiment(experiment: FleetExperiment) -> str:
    try:
        return parse_experiment(experiment.text, name="experiment.toml").question
    except InputError:
        # Files of an earlier version may hold what this one no longer takes; the page shows the text.
        return ""
