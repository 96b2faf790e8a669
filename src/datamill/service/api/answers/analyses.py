"""Analyses of experiments as their readers ask for them, and the table that they rest on."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import FileResponse, HttpRequest, HttpResponse
from ninja import Path, Query, Router

from datamill.protocol.api.experiments import AnalysisHead
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.analyses import AskedAnalysis, analyze_experiment
from datamill.service.answers.asking import read_conditions
from datamill.service.answers.downloads import TABLE_TYPES, open_table
from datamill.service.api.schemas import Name, Number, describe_record

router = Router(tags=["experiments"])
ExperimentNumber = Annotated[Number, Path()]
Verb = Annotated[Literal["anova", "quantiles", "tests", "variability", "summary"], Query()]
Quantile = Annotated[float, Query(gt=0, lt=1)]
Names = Annotated[list[Name], Query(max_length=32)]
Quantiles = Annotated[list[Quantile], Query(max_length=20)]
_PROBLEM = describe_record(Problem)


@router.get(
    "/experiments/{number}/analysis",
    response={200: describe_record(AnalysisHead), 404: _PROBLEM, 409: _PROBLEM, 429: _PROBLEM},
)
def show_analysis(
    request: HttpRequest,
    number: ExperimentNumber,
    verb: Verb = "summary",
    response: Name = "",
    factor: Names = [],  # noqa: B006 - the framework copies it
    quantile: Quantiles = [],  # noqa: B006
    where: Names = [],  # noqa: B006
    by: Name = "",
) -> HttpResponse:
    """Analyse an experiment that has ended: `datamill analyze VERB --json`; `where` is `factor=level`."""
    experiment = find_experiment(request.user, number)
    asked = AskedAnalysis(verb, response, tuple(factor), tuple(quantile), read_conditions(where), by)
    found = analyze_experiment(experiment, find_user(request), asked)
    return HttpResponse(found.json, content_type="application/json; charset=utf-8")


@router.get("/experiments/{number}/table.csv", response={200: None, 404: _PROBLEM, 429: _PROBLEM})
def download_table(request: HttpRequest, number: ExperimentNumber) -> FileResponse:
    """Send the tidy table, a row for each response of each trial that has ended; `/table` is Parquet."""
    experiment = find_experiment(request.user, number)
    file = open_table(experiment, find_user(request), "csv")
    name = f"experiment-{number}.csv"
    return FileResponse(file, as_attachment=True, filename=name, content_type=TABLE_TYPES["csv"])
