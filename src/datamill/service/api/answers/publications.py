"""What was published, and experiments run again with their verdicts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Path, Router

from datamill.protocol.api.problems import Problem
from datamill.protocol.api.publications import AcceptedRerun, PublicationLine, RerunLine, RerunRequest
from datamill.results.crates.citation import cite_as_text
from datamill.service.accounts import find_experiment, find_user
from datamill.service.api.schemas import Name, Number, RequestBody, describe_record
from datamill.service.models import Publication
from datamill.service.publishing.archives import is_intact
from datamill.service.publishing.publishing import (
    find_publication,
    list_publications,
    read_description,
    read_statement,
)
from datamill.service.publishing.reproductions import ShownRerun, judge_rerun, list_judged
from datamill.service.publishing.running_again import run_experiment_again

router = Router(tags=["publications"])
ExperimentNumber = Annotated[Number, Path()]
Key = Annotated[Name, Path()]
Asked = Annotated[RerunRequest, RequestBody(), Body()]
_PROBLEM = describe_record(Problem)
_MOST_ROWS = 1000


@router.get("/publications", response=describe_record(list[PublicationLine]))
def list_published(request: HttpRequest) -> list[PublicationLine]:
    """List publications, the latest first, withdrawn ones as well."""
    return [_describe(request, item) for item in list_publications()[:_MOST_ROWS]]


@router.get("/publications/{key}", response={200: describe_record(PublicationLine), 404: _PROBLEM})
def show_published(request: HttpRequest, key: Key) -> PublicationLine:
    """Tell what a publication is, how it is cited, and whether its archive is whole."""
    return _describe(request, find_publication(key))


@router.post(
    "/experiments/{number}/rerun",
    response={200: describe_record(AcceptedRerun), 400: _PROBLEM, 404: _PROBLEM, 429: _PROBLEM},
)
def run_again(request: HttpRequest, number: ExperimentNumber, body: Asked) -> AcceptedRerun:
    """Run an experiment that has ended again, on the machines of today; the margin is fixed with it."""
    original = find_experiment(request.user, number)
    made, trials = run_experiment_again(original, find_user(request), body.margin)
    return AcceptedRerun(made, original.pk, body.margin, trials)


@router.get(
    "/experiments/{number}/reruns",
    response={200: describe_record(list[RerunLine]), 404: _PROBLEM, 429: _PROBLEM},
)
def list_reruns(request: HttpRequest, number: ExperimentNumber) -> HttpResponse:
    """List the re-runs of an experiment with their verdicts; one that is due is inferred now."""
    user = find_user(request)
    experiment = find_experiment(user, number)
    due = next((item for item in list_judged(experiment.pk, user) if item.due), None)
    if due is not None:
        judge_rerun(due.rerun, user)
    lines = [_describe_rerun(item) for item in list_judged(experiment.pk, user)[:_MOST_ROWS]]
    return HttpResponse(msgspec.json.encode(lines), content_type="application/json; charset=utf-8")


def _describe(request: HttpRequest, item: Publication) -> PublicationLine:
    said, withdrawn = read_description(item), item.withdrawn_unix_s is not None
    intact = not withdrawn and is_intact(item)
    return PublicationLine(
        key=item.key,
        experiment=item.experiment_id,
        title=said.title,
        authors=tuple(author.name for author in said.authors),
        licence=said.licence,
        published_unix_s=item.published_unix_s,
        sha256=item.sha256,
        size_bytes=item.size_bytes,
        address=request.build_absolute_uri(reverse("publication", args=[item.key])),
        archive=request.build_absolute_uri(reverse("publication-archive", args=[item.key])),
        citation=cite_as_text(said),
        headline=read_statement(item).headline if intact else "",
        intact=intact,
        withdrawn=item.withdrawn_reason,
    )


def _describe_rerun(item: ShownRerun) -> RerunLine:
    kept = item.verdict
    return RerunLine(
        id=item.rerun.experiment_id,
        original=item.rerun.original_id,
        owner=item.rerun.experiment.owner.username,
        state=item.rerun.experiment.state,
        margin=item.rerun.margin,
        made_unix_s=item.rerun.made_unix_s,
        verdict="" if kept is None else kept.verdict,
        judgement=None if kept is None else msgspec.Raw(kept.json.encode()),
    )
