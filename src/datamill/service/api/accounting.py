"""Whose key it is, tokens, what is in quarantine, and the account of everything that happened."""

from __future__ import annotations

import time
from typing import Annotated

from django.http import HttpRequest
from ninja import Body, Path, Router, Status

from datamill import __version__
from datamill.protocol.api.accounts import SCOPES, KeyOwner, MachineToken, QuarantinedPackage, TokenRequest
from datamill.protocol.api.events import EventList
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import NotFoundError, check_admin, find_user, is_admin
from datamill.service.api.experiments import After, page_events
from datamill.service.api.schemas import Name, RequestBody, Sha256, describe_record
from datamill.service.coordinator.presence.health import lift_quarantine
from datamill.service.files.rights import may_user_read
from datamill.service.membership import make_enrolment_token
from datamill.service.models import Event, Quarantine, StoredFile
from datamill.service.serving.storage.writer import run_as_writer

router = Router(tags=["accounts"])
_PROBLEM = describe_record(Problem)


@router.get("/me", response=describe_record(KeyOwner))
def me(request: HttpRequest) -> KeyOwner:
    """Tell whose key this is, and what it may be used for."""
    scopes = tuple(getattr(request, "key_scopes", SCOPES))
    return KeyOwner(request.user.get_username(), is_admin(request.user), __version__, scopes)


@router.post("/tokens", response={200: describe_record(MachineToken), 400: _PROBLEM})
def make_token(request: HttpRequest, body: Annotated[TokenRequest, RequestBody(), Body()]) -> MachineToken:
    """Make a token that lets one machine join, once; the machine will be this user's."""
    now_s = time.time()
    token = make_enrolment_token(find_user(request), now_s, body.life_s)
    return MachineToken(token, now_s + body.life_s)


@router.get("/quarantine", response=describe_record(list[QuarantinedPackage]))
def list_quarantine(request: HttpRequest) -> list[QuarantinedPackage]:
    """List the packages that are not leased, since too many workers went down under them.

    Administrators see all, others those that they brought or that an experiment has which they may see.
    """
    barred = Quarantine.objects.filter(lifted_unix_s=None).order_by("-pk")
    found = [item for item in barred if may_user_read(find_user(request), item.sha256)]
    digests = [item.sha256 for item in found]
    names = dict(StoredFile.objects.filter(pk__in=digests).values_list("pk", "name"))
    return [
        QuarantinedPackage(item.sha256, names.get(item.sha256, ""), item.reason, item.since_unix_s)
        for item in found
    ]


@router.post("/quarantine/{sha256}/lift", response={204: None, 403: _PROBLEM, 404: _PROBLEM})
def lift(request: HttpRequest, sha256: Annotated[Sha256, Path()]) -> Status[None]:
    """Let a package be leased again: administrators only."""
    check_admin(request.user)
    if not Quarantine.objects.filter(sha256=sha256, lifted_unix_s=None).exists():
        raise NotFoundError("this package is not in quarantine", where=sha256)
    run_as_writer(lift_quarantine, sha256, find_user(request), time.time())
    return Status(204, None)


@router.get("/events", response={200: describe_record(EventList), 403: _PROBLEM})
def list_events(
    request: HttpRequest,
    after: After = 0,
    kind: Name = "",
    user: Name = "",
) -> EventList:
    """List everything that happened, oldest first: administrators only."""
    check_admin(request.user)
    events = Event.objects.all()
    if kind:
        events = events.filter(kind=kind)
    if user:
        events = events.filter(user=user)
    return page_events(events, after)
