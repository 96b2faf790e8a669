"""Machines: let in, looked at, drained, resumed, removed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from msgspec.structs import asdict, replace
from ninja import Path, Router
from ninja.errors import AuthenticationError

from datamill.experiment.errors import InputError
from datamill.protocol.api.fleet.workers import WorkerDetail, WorkerLine
from datamill.protocol.api.problems import Problem
from datamill.protocol.fleet import CredentialRequest, EnrolmentRequest
from datamill.service.accounts import find_own_worker, find_user, find_worker_by_name
from datamill.service.api.credentials import note_unknown_secret
from datamill.service.api.experiments import MOST_ROWS
from datamill.service.api.schemas import Name, describe_record
from datamill.service.coordinator.joining.enrolment import is_token, refuse_unknown_token
from datamill.service.coordinator.presence.members import drain_worker, resume_worker
from datamill.service.files.rights import find_worker_of_key
from datamill.service.membership import dismiss_machine, enrol_machine, renew_credential
from datamill.service.models import Attempt, FleetWorker
from datamill.service.progress import name_state
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import WorkerState

router = Router(tags=["workers"])
#: An inventory with all factors has some 20 kB.
MOST_REQUEST_BYTES = 1 << 20
#: A request for a credential has some 200 bytes.
MOST_CREDENTIAL_BYTES = 4096
_PROBLEM = describe_record(Problem)
_LINE = describe_record(WorkerLine)
_T = TypeVar("_T")
WorkerName = Annotated[str, Path(max_length=64, pattern=r"^[^\x00]*$")]


@router.post("/enrol", auth=None, response={200: None, 400: _PROBLEM})
def enrol(request: HttpRequest) -> HttpResponse:
    """Let a machine join with a token: `EnrolmentRequest` in, `Enrolment` out, as in `protocol/`."""
    if int(request.headers.get("Content-Length") or 0) > MOST_REQUEST_BYTES:
        raise InputError("the request is larger than 1 MiB", where="enrolment")
    asked = read_request(request.body, EnrolmentRequest, "enrolment")
    if "\0" in request.body.decode(errors="replace") or "\\u0000" in request.body.decode(errors="replace"):
        raise InputError("the request holds a NUL", where="enrolment")
    # Guesses of strangers do not wait for the one thread that writes, and keep nobody else waiting.
    if not is_token(asked.token):
        note_unknown_secret(request)
        raise refuse_unknown_token()
    enrolment = enrol_machine(asked, time.time())
    return HttpResponse(msgspec.json.encode(enrolment), content_type="application/json")


@router.post("/credential", auth=None, response={200: None, 400: _PROBLEM, 401: _PROBLEM, 403: _PROBLEM})
def renew(request: HttpRequest) -> HttpResponse:
    """Give a worker a new credential for the broker: `CredentialRequest` in, `Credential` out.

    It sends its key for files as a bearer token, and a signature of the key with which it joined.
    """
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    worker = find_worker_of_key(key.strip()) if scheme.lower() == "bearer" else None
    if worker is None:
        if key:
            note_unknown_secret(request)
        raise AuthenticationError
    if int(request.headers.get("Content-Length") or 0) > MOST_CREDENTIAL_BYTES:
        raise InputError("the request is larger than 4 KiB", where="credential")
    asked = read_request(request.body, CredentialRequest, "credential")
    credential = renew_credential(worker, asked, time.time())
    return HttpResponse(msgspec.json.encode(credential), content_type="application/json")


def read_request(body: bytes, kind: type[_T], where: str) -> _T:
    """Return the record that a worker sent.

    Raises:
        InputError: when it is another, as a worker of another version sends it.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"the request cannot be read: {error}",
            where=where,
            remedy="Install the worker of the coordinator's version of datamill.",
        ) from None


@router.get("", response=describe_record(list[WorkerLine]))
def list_workers(
    request: HttpRequest,  # noqa: ARG001
    state: WorkerState | None = None,
    after: Name = "",
) -> list[WorkerLine]:
    """List 1000 machines by name, those that were removed only when asked for; `after` is the last seen."""
    workers = FleetWorker.objects.select_related("owner").defer("inventory", "policy").order_by("name")
    workers = workers.filter(state=state) if state else workers.exclude(state=WorkerState.REMOVED)
    return [describe_worker(worker) for worker in workers.filter(name__gt=after)[:MOST_ROWS]]


@router.get("/{name}", response={200: describe_record(WorkerDetail), 404: _PROBLEM})
def show(request: HttpRequest, name: WorkerName) -> HttpResponse:  # noqa: ARG001
    """Tell all about a machine."""
    worker = find_worker_by_name(name)
    attempts: Counter[str] = Counter()
    rows = Attempt.objects.filter(worker=worker).order_by().values_list("trial__purpose", "state")
    for purpose, state, count in rows.annotate(count=Count("pk")):
        attempts[name_state(purpose, state)] += count
    told = WorkerDetail(
        **asdict(replace(describe_worker(worker), attempts=dict(attempts))),
        inventory=msgspec.Raw(bytes(worker.inventory)),
        policy=msgspec.Raw(bytes(worker.policy)),
    )
    return HttpResponse(msgspec.json.encode(told), content_type="application/json; charset=utf-8")


@router.post("/{name}/drain", response={200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM})
def drain(request: HttpRequest, name: WorkerName) -> WorkerLine:
    """Give a machine no further trials; those that it had go elsewhere."""
    return _change(request, name, drain_worker)


@router.post("/{name}/resume", response={200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM})
def resume(request: HttpRequest, name: WorkerName) -> WorkerLine:
    """Give a drained machine trials again."""
    return _change(request, name, resume_worker)


@router.post("/{name}/remove", response={200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM})
def remove(request: HttpRequest, name: WorkerName) -> WorkerLine:
    """Let a machine go for good: its credentials are void, its trials stay."""
    dismiss_machine(find_own_worker(request.user, name), find_user(request), time.time())
    return describe_worker(find_worker_by_name(name))


def _change(request: HttpRequest, name: str, change: Callable[[str, User, float], None]) -> WorkerLine:
    find_own_worker(request.user, name)
    run_as_writer(change, name, find_user(request), time.time())
    return describe_worker(find_worker_by_name(name))


def describe_worker(worker: FleetWorker) -> WorkerLine:
    """Return a machine as a list shows it."""
    return WorkerLine(
        name=worker.name,
        worker_id=worker.worker_id,
        owner=worker.owner.username,
        state=worker.state,
        state_reason=worker.state_reason,
        hardware=worker.hardware,
        clock_offset_s=worker.clock_offset_s,
        joined_unix_s=worker.joined_unix_s,
        heard_unix_s=worker.heard_unix_s,
        attempts={},
    )
