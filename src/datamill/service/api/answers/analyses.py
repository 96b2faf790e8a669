"""Analyses of experiments as their readers ask for them, with figures, the report, and the tidy table."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import FileResponse, HttpRequest, HttpResponse
from ninja import Path, Query, Router, Schema
from pydantic import Field

from datamill.protocol.api.experiments import AnalysisHead
from datamill.protocol.api.problems import Problem
from datamill.report.figures.views import FigureView
from datamill.service.accounts import NotFoundError, find_experiment, find_user
from datamill.service.answers.analyses import AskedAnalysis, analyze_experiment, write_page
from datamill.service.answers.answering import answer_when_due
from datamill.service.answers.asking import read_conditions
from datamill.service.answers.downloads import (
    TABLE_TYPES,
    FigureKind,
    open_table,
    send_figure,
    send_page,
)
from datamill.service.api.schemas import Name, Number, describe_record

router = Router(tags=["experiments"])
ExperimentNumber = Annotated[Number, Path()]
Verb = Literal["anova", "quantiles", "tests", "variability", "summary"]
Names = Annotated[list[Name], Field(max_length=32)]
Quantiles = Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(max_length=20)]
_PROBLEM = describe_record(Problem)
_SENT = {200: None, 404: _PROBLEM, 409: _PROBLEM, 429: _PROBLEM}


class AnalysisQuery(Schema):
    """What is asked of an experiment, as parameters of an address; `where` is `factor=level`."""

    response: Name = ""
    factor: Names = Field(default_factory=list)
    quantile: Quantiles = Field(default_factory=list)
    where: Names = Field(default_factory=list)
    by: Name = ""

    def ask(self, verb: Verb) -> AskedAnalysis:
        """Return the question of a verb.

        Raises:
            InputError: a condition is not of the form `name=level`.
        """
        conditions = read_conditions(self.where)
        return AskedAnalysis(
            verb, self.response, tuple(self.factor), tuple(self.quantile), conditions, self.by
        )


Asked = Annotated[AnalysisQuery, Query()]


@router.get(
    "/experiments/{number}/analysis",
    response={200: describe_record(AnalysisHead), 404: _PROBLEM, 409: _PROBLEM, 429: _PROBLEM},
)
def show_analysis(
    request: HttpRequest, number: ExperimentNumber, asked: Asked, verb: Verb = "summary"
) -> HttpResponse:
    """Analyse an experiment that has ended: `datamill analyze VERB --json`; `where` is `factor=level`."""
    experiment = find_experiment(request.user, number)
    found = analyze_experiment(experiment, find_user(request), asked.ask(verb))
    return HttpResponse(found.json, content_type="application/json; charset=utf-8")


@router.get("/experiments/{experiment_id}/figures/{number}.{kind}", response=_SENT)
def send_one_figure(
    request: HttpRequest,
    experiment_id: ExperimentNumber,
    number: Annotated[int, Path(ge=0, le=1000)],
    kind: Annotated[FigureKind, Path()],
    asked: Asked,
    verb: Verb | None = None,
) -> HttpResponse:
    """Send a figure of an analysis, counted from 0, as `svg`, `png` or `json`; without `verb` the answer's.

    `json` is its specification in Vega-Lite, with all data.
    """
    experiment, user = find_experiment(request.user, experiment_id), find_user(request)
    figures: tuple[FigureView, ...]
    if verb is None:
        picture = answer_when_due(experiment, user).picture
        figures = () if picture is None else (picture,)
    else:
        figures = analyze_experiment(experiment, user, asked.ask(verb)).figures
    if number >= len(figures):
        raise NotFoundError(f"there is no figure {number}", where=f"experiment {experiment_id}")
    return send_figure(figures[number], kind, f"experiment-{experiment_id}-{number}")


@router.get("/experiments/{number}/report", response=_SENT)
def send_report(
    request: HttpRequest, number: ExperimentNumber, asked: Asked, verb: Verb | None = None
) -> HttpResponse:
    """Send the report as one HTML page that needs nothing else, or with `verb` the page of an analysis."""
    experiment = find_experiment(request.user, number)
    question = None if verb is None else asked.ask(verb)
    page = write_page(experiment, find_user(request), question)
    return send_page(page, f"experiment-{number}.html")


@router.get("/experiments/{number}/table.csv", response={200: None, 404: _PROBLEM, 429: _PROBLEM})
def download_table(request: HttpRequest, number: ExperimentNumber) -> FileResponse:
    """Send the tidy table, a row for each response of each trial that has ended; `/table` is Parquet."""
    experiment = find_experiment(request.user, number)
    file = open_table(experiment, find_user(request), "csv")
    name = f"experiment-{number}.csv"
    return FileResponse(file, as_attachment=True, filename=name, content_type=TABLE_TYPES["csv"])
