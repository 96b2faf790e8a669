"""A package of an experiment on machines that did not run it, predicted from scores of the suite."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.elsewhere.machine_scores import gather_scores
from datamill.service.answers.elsewhere.predictions import predict_elsewhere, read_times
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.models import FleetWorker
from datamill.service.pages.access import member_page, show_page
from datamill.service.states import WorkerState
from datamill.service.watching.places import FullError

#: As many characters of a name are looked at as the API takes.
_MOST_CHARACTERS = 2048


@require_GET
@member_page
def show_elsewhere(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """What a package would take elsewhere: the sentence, a picture with intervals, refusals in words."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    package, response = (request.GET.get(name, "")[:_MOST_CHARACTERS] for name in ("package", "response"))
    context: dict[str, object] = {"experiment": experiment}
    try:
        times = read_times(experiment, user, package, response, first=True)
        context["times"] = times
        scores = gather_scores(user)
        known = {score.machine for score in scores.scores}
        workers = FleetWorker.objects.exclude(state=WorkerState.REMOVED).order_by("name")
        without = [name for name in workers.values_list("name", flat=True) if name not in known]
        context |= {"scored": len(known), "without": without, "notes": scores.warnings}
        if known:
            context["shown"] = predict_elsewhere(times, scores, user).words
    except (BusyError, GoneError):
        raise
    except InputError as problem:
        context["problem"] = problem
    except FullError as problem:
        context["problem"] = InputError(str(problem), remedy="Come again later.")
    except BundleError:
        context["problem"] = InputError("the coordinator's records of this experiment do not fit each other")
    return show_page(request, "experiments/experiment_elsewhere.html", context, section="experiments")
