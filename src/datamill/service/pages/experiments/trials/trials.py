"""Pages of one trial: its attempts, and the files that they left."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from datamill.service.accounts import NotFoundError, find_experiment, find_user
from datamill.service.files.sending import send_file
from datamill.service.models import Artifact, Attempt, Event, Trial
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.events import tell_events
from datamill.service.pages.experiments.trials.trial_facts import list_attempts, show_trial
from datamill.service.queue.stages import explain_needs


@require_GET
@member_page
def show_one_trial(request: HttpRequest, experiment_id: int, trial_id: str) -> HttpResponse:
    """One trial with all its attempts."""
    trial = _find_trial(request, experiment_id, trial_id)
    keys = list(trial.attempt_set.values_list("key", flat=True))
    events = Event.objects.filter(experiment_id=experiment_id, attempt__in=keys).order_by("-id")[:50]
    needs, why_not = explain_needs(experiment_id, [trial]).get(trial.pk, ("", ""))
    context = {
        "experiment": trial.experiment,
        "needs": needs,
        "why_not": why_not,
        "trial": show_trial(trial),
        "package_sha256": trial.package_sha256,
        "attempts": list_attempts(trial),
        "events": tell_events(events),
    }
    return show_page(request, "experiments/trial.html", context, section="experiments")


@require_GET
@member_page
def download_record(request: HttpRequest, experiment_id: int, trial_id: str, number: int) -> HttpResponse:
    """The trial record of an attempt, byte for byte as it arrived."""
    attempt = _find_attempt(request, experiment_id, trial_id, number)
    if attempt.record is None:
        raise Http404
    response = HttpResponse(bytes(attempt.record), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{attempt.key}.json"'
    return response


@require_GET
@member_page
def download_artifact(
    request: HttpRequest, experiment_id: int, trial_id: str, number: int, name: str
) -> StreamingHttpResponse:
    """A file that an attempt left; never shown in the browser, since anyone may have written it."""
    attempt = _find_attempt(request, experiment_id, trial_id, number)
    artifact = Artifact.objects.filter(attempt=attempt, name=name).first()
    if artifact is None:
        raise NotFoundError("the attempt left no such file")
    return send_file(artifact.file_id, name)


def _find_trial(request: HttpRequest, experiment_id: int, trial_id: str) -> Trial:
    experiment = find_experiment(find_user(request), experiment_id)
    trial = (
        Trial.objects.filter(experiment=experiment, trial_id=trial_id)
        .select_related("worker", "experiment")
        .first()
    )
    if trial is None:
        raise NotFoundError(f"experiment {experiment_id} has no such trial")
    return trial


def _find_attempt(request: HttpRequest, experiment_id: int, trial_id: str, number: int) -> Attempt:
    trial = _find_trial(request, experiment_id, trial_id)
    attempt = Attempt.objects.filter(trial=trial, number=number).first()
    if attempt is None:
        raise NotFoundError("the trial has no such attempt")
    return attempt
