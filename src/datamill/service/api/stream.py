"""What is new about an experiment, as server-sent events while it goes on."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_experiment, find_user
from datamill.service.api.experiments import ExperimentNumber
from datamill.service.api.schemas import describe_record
from datamill.service.watching.changes import parse_cursor
from datamill.service.watching.places import PLACES
from datamill.service.watching.viewing import follow

router = Router(tags=["experiments"])


@router.get("/{number}/stream", response={200: None, 404: describe_record(Problem)})
def stream(request: HttpRequest, number: ExperimentNumber) -> StreamingHttpResponse:
    """Send `progress`, `output`, `event` and at last `end`; `Last-Event-ID` continues where it broke off."""
    experiment = find_experiment(request.user, number)
    return send_events(request, experiment.pk, request.headers.get("Last-Event-ID", ""))


def send_events(
    request: HttpRequest, experiment_id: int, last_event_id: str, *, brief: bool = False
) -> StreamingHttpResponse:
    """Answer with what is new about an experiment behind an event, from its beginning when that is empty.

    With `brief`, only the last of several events is told.

    Raises:
        FullError: when too many look on already.
    """
    place = PLACES.take(find_user(request).pk)
    news = follow(experiment_id, parse_cursor(last_event_id), place, brief=brief)
    response = StreamingHttpResponse(news, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response
