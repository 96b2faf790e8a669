"""What was published, and experiments run again with their verdicts."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import Body, Path, Router

from datamill.protocol.api.problems import Problem
from datamill.protocol.api.publications import (
    NOTHING,
    AcceptedRerun,
    PublicationLine,
    PublishedAnswer,
    PublishRequest,
    RerunLine,
    RerunRequest,
    WithdrawalRequest,
)
from datamill.protocol.api.submissions import ExperimentSource
from datamill.results.crates.citation import cite_as_text
from datamill.results.crates.description import Description, describe
from datamill.service.accounts import find_experiment, find_own_experiment, find_user
from datamill.service.api.experiments import MOST_ROWS, After
from datamill.service.api.keyed import RequestKey, doing_once
from datamill.service.api.schemas import Name, Number, RequestBody, describe_record
from datamill.service.models import Publication
from datamill.service.publishing.archives import are_intact, is_intact
from datamill.service.publishing.publishing import (
    check_readable,
    find_publication,
    list_publications,
    publish_experiment,
    read_description,
    read_statement,
    withdraw_publication,
)
from datamill.service.publishing.reproductions import ShownRerun, judge_rerun, list_judged
from datamill.service.publishing.running_again import list_files, run_experiment_again
from datamill.service.publishing.sending import send_archive, send_crate

router = Router(tags=["publications"])
ExperimentNumber = Annotated[Number, Path()]
Key = Annotated[Name, Path()]
Asked = Annotated[RerunRequest, RequestBody(), Body()]
ToPublish = Annotated[PublishRequest, RequestBody(), Body()]
Withdrawn = Annotated[WithdrawalRequest, RequestBody(), Body()]
_PROBLEM = describe_record(Problem)
_LINE = describe_record(PublicationLine)
_RERUN = describe_record(AcceptedRerun)
#: Publications in one answer: whether each is whole may have to be read from its archive.
_MOST_PUBLICATIONS = 100


@router.get(
    "/publications",
    response={200: describe_record(list[PublicationLine]), 404: _PROBLEM, 503: _PROBLEM},
)
def list_published(request: HttpRequest, after: Name = "") -> list[PublicationLine]:
    """List 100 publications, the latest first, withdrawn ones as well; `after` is the last key seen."""
    found = list_publications()
    if after:
        last = find_publication(after)
        same = Q(published_unix_s=last.published_unix_s, key__gt=last.key)
        found = found.filter(Q(published_unix_s__lt=last.published_unix_s) | same)
    listed = list(found[:_MOST_PUBLICATIONS])
    standing = [item for item in listed if item.withdrawn_unix_s is None]
    whole = {item.key for item, is_whole in zip(standing, are_intact(standing), strict=True) if is_whole}
    return [_describe(request, item, is_whole=item.key in whole) for item in listed]


@router.get(
    "/publications/{key}",
    response={200: describe_record(PublicationLine), 404: _PROBLEM, 503: _PROBLEM},
)
def show_published(request: HttpRequest, key: Key) -> PublicationLine:
    """Tell what a publication is, how it is cited, and whether its archive is whole."""
    found = find_publication(key)
    return _describe(request, found, is_whole=found.withdrawn_unix_s is None and is_intact(found))


@router.get(
    "/publications/{key}/answer",
    response={200: describe_record(PublishedAnswer), 404: _PROBLEM, 410: _PROBLEM, 503: _PROBLEM},
)
def show_published_answer(request: HttpRequest, key: Key) -> PublishedAnswer:  # noqa: ARG001
    """Tell what a publication answers, unless it was withdrawn or its archive is damaged."""
    publication = find_publication(key)
    check_readable(publication)
    said = read_statement(publication)
    return PublishedAnswer(
        key=publication.key,
        experiment=said.experiment,
        question=said.question,
        headline=said.headline,
        details=said.details,
        mattered=said.mattered,
        warnings=said.warnings,
        n=said.n,
        method=said.method,
        trials=said.trials,
        machines=said.machines,
        version=said.version,
        sha256=publication.sha256,
    )


@router.get(
    "/publications/{key}/archive",
    response={200: None, 304: None, 404: _PROBLEM, 410: _PROBLEM, 503: _PROBLEM},
)
def send_published(request: HttpRequest, key: Key) -> HttpResponseBase:
    """Send the archive, an RO-Crate, as it was published; 304 where `If-None-Match` has its digest."""
    return send_archive(request, find_publication(key))


@router.post(
    "/experiments/{number}/publish",
    response={
        200: _LINE,
        400: _PROBLEM,
        403: _PROBLEM,
        404: _PROBLEM,
        409: _PROBLEM,
        429: _PROBLEM,
        503: _PROBLEM,
    },
)
def publish(
    request: HttpRequest, number: ExperimentNumber, body: ToPublish, request_key: RequestKey = ""
) -> HttpResponse:
    """Publish an experiment of one's own that has ended: for everybody, without an account, and for ever."""
    experiment = find_own_experiment(request.user, number)

    def make(key: str) -> Description:
        return describe(
            body.title,
            "\n".join(body.authors),
            body.licence,
            now_s=time.time(),
            summary=body.summary,
            address=request.build_absolute_uri(reverse("publication", args=[key])),
            organisation=body.organisation,
        )

    # What is wrong in the request is said before anything is written.
    make("0" * 12)
    with doing_once(request, request_key) as once:
        if not once.is_done:
            publish_experiment(
                experiment,
                find_user(request),
                make,
                held_back=body.hold_back,
                # The writer does not read the archive, which was written just now.
                enter_more=lambda made: once.keep(_describe(request, made, is_whole=True)),
            )
    return once.respond()


@router.post(
    "/publications/{key}/withdraw",
    response={200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM, 409: _PROBLEM},
)
def withdraw(request: HttpRequest, key: Key, body: Withdrawn, request_key: RequestKey = "") -> HttpResponse:
    """Withdraw a publication of one's own; its address says why from now on."""
    with doing_once(request, request_key) as once:
        if not once.is_done:
            withdraw_publication(
                find_publication(key),
                find_user(request),
                body.reason,
                lambda withdrawn: once.keep(_describe(request, withdrawn, is_whole=False)),
            )
    return once.respond()


@router.get(
    "/experiments/{number}/crate",
    response={200: None, 400: _PROBLEM, 404: _PROBLEM, 409: _PROBLEM, 429: _PROBLEM, 503: _PROBLEM},
)
def send_unpublished(request: HttpRequest, number: ExperimentNumber) -> StreamingHttpResponse:
    """Send an experiment that has ended as an RO-Crate, which says that it has no licence; 409 before."""
    return send_crate(find_experiment(request.user, number), find_user(request))


@router.get("/experiments/{number}/source", response={200: describe_record(ExperimentSource), 404: _PROBLEM})
def show_source(request: HttpRequest, number: ExperimentNumber) -> ExperimentSource:
    """Tell what an experiment was made of: its file, and the archives that are at `/files`."""
    found = find_experiment(request.user, number)
    return ExperimentSource(found.pk, found.name, found.owner.username, found.text, list_files(found))


@router.post(
    "/experiments/{number}/rerun",
    response={
        200: describe_record(AcceptedRerun),
        400: _PROBLEM,
        404: _PROBLEM,
        409: _PROBLEM,
        429: _PROBLEM,
    },
)
def run_again(
    request: HttpRequest, number: ExperimentNumber, body: Asked, request_key: RequestKey = ""
) -> HttpResponse:
    """Run an experiment that has ended again, on the machines of today; the margin is fixed with it."""
    original = find_experiment(request.user, number)
    with doing_once(request, request_key) as once:
        if not once.is_done:
            run_experiment_again(
                original,
                find_user(request),
                body.margin,
                lambda made, trials: once.keep(AcceptedRerun(made, original.pk, body.margin, trials)),
            )
    return once.respond()


@router.get(
    "/experiments/{number}/reruns",
    response={200: describe_record(list[RerunLine]), 404: _PROBLEM, 429: _PROBLEM},
)
def list_reruns(request: HttpRequest, number: ExperimentNumber, before: After = 0) -> HttpResponse:
    """List 1000 re-runs of an experiment with their verdicts; one that is due is inferred now.

    The latest come first; ask for older ones with `before`, the last one's number.
    """
    user = find_user(request)
    experiment = find_experiment(user, number)
    found = list_judged(experiment.pk, user, before=before, most=MOST_ROWS)
    due = next((item for item in found if item.due), None)
    if due is not None:
        judge_rerun(due.rerun, user)
        found = list_judged(experiment.pk, user, before=before, most=MOST_ROWS)
    lines = [_describe_rerun(item) for item in found]
    return HttpResponse(msgspec.json.encode(lines), content_type="application/json; charset=utf-8")


def _describe(request: HttpRequest, item: Publication, *, is_whole: bool) -> PublicationLine:
    said = read_description(item)
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
        headline=read_statement(item).headline if is_whole else "",
        intact=is_whole,
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
        judgement=NOTHING if kept is None else msgspec.Raw(kept.json.encode()),
    )
