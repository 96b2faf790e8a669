"""Scores of machines, and predictions for packages of experiments on machines that did not run them."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router

from datamill.conduct.fleet.score_table import spell_scores
from datamill.protocol.api.machines import PackageTimes, PredictionHead, ScoreList
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.elsewhere.machine_scores import gather_scores
from datamill.service.answers.elsewhere.predictions import predict_elsewhere, read_times
from datamill.service.api.schemas import Name, Number, describe_record

router = Router(tags=["machines"])
ExperimentNumber = Annotated[Number, Path()]
#: Packages are named with their levels, which may be many.
Application = Annotated[str, Query(max_length=2048, pattern=r"^[^\x00]*$")]
Level = Annotated[float | None, Query(gt=0.5, lt=1)]
_PROBLEM = describe_record(Problem)


@router.get("/scores", response={200: describe_record(ScoreList), 429: _PROBLEM})
def list_scores(request: HttpRequest) -> ScoreList:
    """Tell what the fingerprint suite took on machines, by the experiments that you may see."""
    return gather_scores(find_user(request))


@router.get("/scores.csv", response={200: None, 429: _PROBLEM})
def download_scores(request: HttpRequest) -> HttpResponse:
    """Send the same as a table that `datamill platforms` reads: a row for each score."""
    table = spell_scores(gather_scores(find_user(request)))
    response = HttpResponse(table, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="scores.csv"'
    return response


@router.get(
    "/experiments/{number}/times",
    response={200: describe_record(PackageTimes), 404: _PROBLEM, 429: _PROBLEM},
)
def show_times(
    request: HttpRequest, number: ExperimentNumber, package: Application = "", response: Name = ""
) -> PackageTimes:
    """Tell what a package took on each machine that ran it."""
    experiment = find_experiment(request.user, number)
    return read_times(experiment, find_user(request), package, response)


@router.get(
    "/experiments/{number}/prediction",
    response={200: describe_record(PredictionHead), 404: _PROBLEM, 429: _PROBLEM},
)
def show_prediction(
    request: HttpRequest,
    number: ExperimentNumber,
    package: Application = "",
    response: Name = "",
    confidence: Level = None,
) -> HttpResponse:
    """Predict a package on machines that did not run it: `datamill platforms predict --json`."""
    experiment, user = find_experiment(request.user, number), find_user(request)
    times = read_times(experiment, user, package, response)
    found = predict_elsewhere(times, gather_scores(user), user, confidence)
    return HttpResponse(found.json, content_type="application/json; charset=utf-8")
