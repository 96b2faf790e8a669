"""The list of experiments: what each asked, what came out, how far it is; and the search in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.service.accounts import find_experiment, find_user, is_admin, list_visible_experiments
from datamill.service.answers.answering import UNFIT, answer_experiment
from datamill.service.answers.verdicts import recall_verdict
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.experiment_search import MOST_CHARACTERS, search_experiments
from datamill.service.files.store import AwayError
from datamill.service.models import FleetExperiment
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.trials.trial_counts import TrialCounts, count_trials
from datamill.service.states import ENDED_EXPERIMENTS, ExperimentState
from datamill.service.watching.places import FullError

_EXPERIMENTS_A_PAGE = 20
#: Answers that one look at the list asks for; others come with the next.
_MOST_DUE = 3


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """An experiment in the list; `verdict` is None where it has none yet, and `due` says that it could.

    `failure` says why its trials give no answer, empty where they do or nobody tried.
    """

    experiment: FleetExperiment
    counts: TrialCounts
    question: str
    verdict: str | None
    failure: str
    due: bool


@require_GET
@member_page
def list_experiments(request: HttpRequest) -> HttpResponse:
    """Own experiments, those of others that are public, or all of an administrator's, by a search."""
    whose = request.GET.get("whose", "mine")
    visible = list_visible_experiments(find_user(request))
    if whose == "public":
        chosen = visible.filter(public=True)
    elif whose == "all" and is_admin(find_user(request)):
        chosen = visible
    else:
        whose, chosen = "mine", visible.filter(owner_id=request.user.pk)
    state = request.GET.get("state", "")
    if state in ExperimentState.values:
        chosen = chosen.filter(state=state)
    else:
        state = ""
    search = request.GET.get("search", "")[:MOST_CHARACTERS].strip()
    found = search_experiments(chosen, search)
    page = Paginator(found.select_related("owner").order_by("-id"), _EXPERIMENTS_A_PAGE).get_page(
        request.GET.get("page")
    )
    counts = count_trials([experiment.pk for experiment in page])
    asked = {"whose": whose, "state": state, "search": search}
    context = {
        "rows": _limit_due(_show_row(experiment, counts[experiment.pk]) for experiment in page),
        "page": page,
        "states": ExperimentState.values,
        "query": urlencode({name: value for name, value in asked.items() if value}) + "&",
        **asked,
    }
    part = request.headers.get("HX-Request")
    template = "experiments/parts/experiment_rows.html" if part else "experiments/experiments.html"
    return show_page(request, template, context, section="experiments")


@require_GET
@member_page
def show_verdict(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The first sentence of an ended experiment's answer, for its row."""
    experiment = find_experiment(find_user(request), experiment_id)
    verdict, failure = "", ""
    if experiment.state in ENDED_EXPERIMENTS:
        try:
            verdict, failure = _find_verdict(experiment, find_user(request))
        except (AwayError, BusyError, GoneError):
            raise
        except FullError as problem:
            failure = str(problem)
        except (InputError, BundleError) as problem:
            failure = problem.message if isinstance(problem, InputError) else UNFIT
    context = {"verdict": verdict, "failure": failure, "experiment": experiment}
    return show_page(request, "experiments/parts/answering/verdict.html", context)


def _find_verdict(experiment: FleetExperiment, user: User) -> tuple[str, str]:
    """Return the first sentence, or why there is none, as far as it is kept; else it is inferred."""
    kept = recall_verdict(experiment)
    if kept is not None:
        return kept.headline, kept.failure
    return answer_experiment(experiment, user).words.headline, ""


def _show_row(experiment: FleetExperiment, counts: TrialCounts) -> ExperimentRow:
    ended = experiment.state in ENDED_EXPERIMENTS
    kept = recall_verdict(experiment) if ended else None
    return ExperimentRow(
        experiment,
        counts,
        _read_question(experiment.text),
        None if kept is None or kept.failure else kept.headline,
        "" if kept is None else kept.failure,
        ended and kept is None and bool(counts.counted),
    )


def _limit_due(rows: Iterable[ExperimentRow]) -> list[ExperimentRow]:
    """Return the rows, of which only the first few may ask for their answer."""
    limited, due = [], 0
    for row in rows:
        due += row.due
        limited.append(replace(row, due=row.due and due <= _MOST_DUE))
    return limited


@lru_cache(maxsize=512)
def _read_question(text: str) -> str:
    try:
        return parse_experiment(text, name="experiment.toml").question
    except InputError:
        # Files of an earlier version may hold what this one no longer takes.
        return ""
