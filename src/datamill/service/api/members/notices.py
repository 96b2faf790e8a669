"""Addresses for notices over the API: entered, confirmed, tried, resumed, removed."""

from __future__ import annotations

import time
from typing import Annotated

from django.http import HttpRequest
from ninja import Body, Path, Router

from datamill.protocol.api.members.addresses import (
    ConfirmationRequest,
    MadeNoticeTarget,
    NoticeTargetLine,
    NoticeTargetRequest,
)
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_user
from datamill.service.api.schemas import Number, RequestBody, describe_record
from datamill.service.models import NoticeTarget
from datamill.service.notices.rounds import queue_try
from datamill.service.notices.subjects import read_subjects
from datamill.service.notices.targets import (
    add_feed,
    add_mail,
    add_webhook,
    confirm_mail,
    find_target,
    resume_target,
)

router = Router(tags=["notices"])
_PROBLEM = describe_record(Problem)
_LINE = describe_record(NoticeTargetLine)
_LINES = describe_record(list[NoticeTargetLine])
_CHANGED = {200: _LINE, 400: _PROBLEM, 404: _PROBLEM}
TargetNumber = Annotated[Number, Path()]


@router.get("/notices", response=_LINES)
def list_targets(request: HttpRequest) -> list[NoticeTargetLine]:
    """List the addresses that one's notices go to; there are at most ten."""
    return [_describe(item) for item in NoticeTarget.objects.filter(user=find_user(request)).order_by("pk")]


@router.post("/notices", response={200: describe_record(MadeNoticeTarget), 400: _PROBLEM})
def add_target(
    request: HttpRequest, body: Annotated[NoticeTargetRequest, RequestBody(), Body()]
) -> MadeNoticeTarget:
    """Enter an address; a webhook's signing key, or a feed's address, is shown this once."""
    user, now_s = find_user(request), time.time()
    subjects, address = read_subjects(body.subjects), body.address.strip()
    if body.kind == "webhook":
        target, secret = add_webhook(user, address, subjects, now_s)
        return MadeNoticeTarget(_describe(target), secret, "")
    if body.kind == "mail":
        return MadeNoticeTarget(_describe(add_mail(user, address, subjects, now_s)), "", "")
    key = add_feed(user, subjects, now_s)
    feed = request.build_absolute_uri(f"/notices.atom?key={key}")
    return MadeNoticeTarget(_describe(NoticeTarget.objects.get(user=user, kind="feed")), "", feed)


@router.post("/notices/{number}/confirm", response=_CHANGED)
def confirm(
    request: HttpRequest,
    number: TargetNumber,
    body: Annotated[ConfirmationRequest, RequestBody(), Body()],
) -> NoticeTargetLine:
    """Confirm a mail address by the code that was sent there; a wrong one removes the address."""
    user = find_user(request)
    confirm_mail(user, number, body.code)
    return _describe(find_target(user, number))


@router.post("/notices/{number}/try", response=_CHANGED)
def try_target(request: HttpRequest, number: TargetNumber) -> NoticeTargetLine:
    """Send a notice that says nothing; whether it arrived is in the list soon after."""
    target = find_target(find_user(request), number)
    queue_try(target, time.time())
    return _describe(target)


@router.post("/notices/{number}/resume", response=_CHANGED)
def resume(request: HttpRequest, number: TargetNumber) -> NoticeTargetLine:
    """Send to an address again that was given up, and what waits for it at once."""
    user = find_user(request)
    resume_target(user, number, time.time())
    return _describe(find_target(user, number))


@router.post("/notices/{number}/remove", response={200: _LINES, 404: _PROBLEM})
def remove(request: HttpRequest, number: TargetNumber) -> list[NoticeTargetLine]:
    """Send nothing to an address any more; returns those that are left."""
    find_target(find_user(request), number).delete()
    return list_targets(request)


def _describe(item: NoticeTarget) -> NoticeTargetLine:
    return NoticeTargetLine(
        item.pk,
        item.kind,
        item.address,
        tuple(item.subjects.split()),
        item.confirmed,
        item.paused_unix_s,
        item.sent_unix_s,
        item.trouble,
    )
