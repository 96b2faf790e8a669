"""The queue, and the shares and priorities that divide machine time."""

from __future__ import annotations

import time
from typing import Annotated

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Body, Path, Router

from datamill.protocol.api.fleet.queue import (
    FleetQueue,
    PriorityRequest,
    QueuedExperiment,
    ShareRequest,
    UserShareLine,
)
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import (
    NotFoundError,
    check_admin,
    find_own_experiment,
    find_user,
)
from datamill.service.api.schemas import Name, Number, RequestBody, describe_record
from datamill.service.coordinator.sharing.shares import set_priority, set_share
from datamill.service.queue.queue_state import describe_queue, describe_share
from datamill.service.serving.storage.writer import run_as_writer

router = Router(tags=["queue"])
_PROBLEM = describe_record(Problem)
_QUEUE = describe_record(FleetQueue)


@router.get("/queue", response=_QUEUE)
def show_queue(request: HttpRequest) -> FleetQueue:
    """Tell who waits for what, which share was promised and received, and when experiments begin."""
    return describe_queue(request.user, time.time())


@router.post(
    "/users/{name}/share", response={200: describe_record(UserShareLine), 403: _PROBLEM, 404: _PROBLEM}
)
def change_share(
    request: HttpRequest,
    name: Annotated[Name, Path()],
    body: Annotated[ShareRequest, RequestBody(), Body()],
) -> UserShareLine:
    """Give a user a share of the machines: administrators only."""
    check_admin(request.user)
    user = User.objects.filter(username=name).first()
    if user is None:
        raise NotFoundError(f'there is no user "{name}"', where="user")
    run_as_writer(set_share, user, body.share, find_user(request), time.time())
    return describe_share(user)


@router.post(
    "/experiments/{number}/priority",
    response={200: describe_record(QueuedExperiment), 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM},
)
def change_priority(
    request: HttpRequest,
    number: Annotated[Number, Path()],
    body: Annotated[PriorityRequest, RequestBody(), Body()],
) -> QueuedExperiment:
    """Give an experiment a priority among those of its owner."""
    find_own_experiment(request.user, number)
    run_as_writer(set_priority, number, body.priority, find_user(request), time.time())
    queue = describe_queue(request.user, time.time())
    found = next((item for item in queue.experiments if item.experiment == number), None)
    if found is None:
        raise NotFoundError(f"experiment {number} has ended", where=f"experiment {number}")
    return found
