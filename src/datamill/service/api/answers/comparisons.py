"""Results of several experiments compared, with figures."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router, Schema
from pydantic import Field

from datamill.analysis.versions.version_comparison import VersionAdjustment
from datamill.experiment.experiment import Direction
from datamill.protocol.api.experiments import ComparisonHead
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import NotFoundError, find_user
from datamill.service.answers.asking import read_levels
from datamill.service.answers.compared.comparing import FleetComparison, compare_results, find_compared
from datamill.service.answers.compared.question import AskedComparison, StatementForm
from datamill.service.answers.downloads import FigureKind, send_figure
from datamill.service.api.schemas import Condition, Name, Number, describe_record

router = Router(tags=["experiments"])
_PROBLEM = describe_record(Problem)
_REFUSED = {404: _PROBLEM, 409: _PROBLEM, 429: _PROBLEM}
_USUAL = AskedComparison()


class ComparisonQuery(Schema):
    """What is asked of several experiments, as parameters of an address: arguments of `datamill compare`."""

    experiment: Annotated[list[Number], Field(min_length=1, max_length=100)]
    response: Name = ""
    where: Annotated[list[Condition], Field(max_length=32)] = Field(default_factory=list)
    series: bool = False
    baseline: Annotated[str, Field(max_length=2048, pattern=r"^[^\x00]*$")] = ""
    threshold: Annotated[float, Field(gt=0, lt=1)] = _USUAL.threshold
    confidence: Annotated[float | None, Field(gt=0.5, lt=1)] = None
    alpha: Annotated[float | None, Field(gt=0, le=0.5)] = None
    adjust: VersionAdjustment = _USUAL.adjust
    direction: Direction | None = None
    seed: Number = _USUAL.seed
    form: StatementForm = _USUAL.form


Asked = Annotated[ComparisonQuery, Query()]


@router.get("/compare", response={200: describe_record(ComparisonHead), **_REFUSED})
def show_comparison(request: HttpRequest, asked: Asked) -> HttpResponse:
    """Compare the results of 2 to 8 experiments that have ended: `datamill compare --json`.

    Without a response, or a level in `where` (`package=sort`, `machine=m1`), the first is taken that all of
    them have. `form` says how `text` is written.
    """
    found = _compare(request, asked)
    return HttpResponse(found.json, content_type="application/json; charset=utf-8")


@router.get("/compare/figures/{number}.{kind}", response={200: None, **_REFUSED})
def send_compared_figure(
    request: HttpRequest,
    number: Annotated[int, Path(ge=0, le=1000)],
    kind: Annotated[FigureKind, Path()],
    asked: Asked,
) -> HttpResponse:
    """Send a figure of the same comparison, counted from 0, as `svg`, `png` or `json` (Vega-Lite)."""
    figures = _compare(request, asked).figures
    if number >= len(figures):
        raise NotFoundError(f"there is no figure {number}", where="comparison")
    return send_figure(figures[number], kind, f"comparison-{number}")


def _compare(request: HttpRequest, asked: ComparisonQuery) -> FleetComparison:
    user = find_user(request)
    told = asked.dict(exclude={"experiment"}) | {"where": read_levels(asked.where)}
    question = AskedComparison(**told)
    return compare_results(find_compared(user, asked.experiment), user, question)
