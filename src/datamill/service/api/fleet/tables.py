"""Results of all experiments that one may read, as parts of a data set."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Router

from datamill.protocol.api.bundles import TABLES_SCHEMA, TableParts
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.table_parts import count_trials, describe_part, list_parts, stream_part
from datamill.service.api.experiments import MOST_ROWS, After, ExperimentNumber
from datamill.service.api.schemas import describe_record
from datamill.service.bundles.tar_stream import send_pieces
from datamill.service.watching.places import BUNDLES

router = Router(tags=["tables"])
_PROBLEM = describe_record(Problem)


@router.get("/tables", response=describe_record(TableParts))
def list_tables(request: HttpRequest, after: After = 0) -> TableParts:
    """List the parts of the data set: an experiment each, with a version that changes with its rows."""
    parts = list_parts(find_user(request), after, MOST_ROWS)
    return TableParts(TABLES_SCHEMA, tuple(parts), parts[-1].experiment if len(parts) == MOST_ROWS else None)


@router.get(
    "/experiments/{number}/table",
    response={200: None, 304: None, 400: _PROBLEM, 404: _PROBLEM, 429: _PROBLEM},
)
def send_table(request: HttpRequest, number: ExperimentNumber) -> HttpResponseBase:
    """Send an experiment's part as Parquet; 304 where `If-None-Match` has its version."""
    experiment, user = find_experiment(request.user, number), find_user(request)
    tag = f'"{describe_part(experiment, count_trials(experiment)).version}"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    pieces = stream_part(experiment, user)
    place = BUNDLES.take(user.pk)
    answer = StreamingHttpResponse(
        send_pieces(pieces, place.leave), content_type="application/vnd.apache.parquet"
    )
    answer["ETag"] = tag
    return answer
