"""Rounds of notices: made of what happened since the last one, sent where they are due, tried again."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from django.db import transaction
from django.db.models import F, Max

from datamill.experiment.errors import InputError
from datamill.protocol.api.notices import NoticeBody, NoticeData
from datamill.results.crates.description import clean_text
from datamill.service.models import Event, FleetExperiment, FleetWorker, Notice, NoticeCursor, NoticeTarget
from datamill.service.notices.addresses import parse_webhook
from datamill.service.notices.mail import send_mail
from datamill.service.notices.subjects import KINDS, list_concerned
from datamill.service.notices.ways import find_notice_ways
from datamill.service.notices.webhooks import UndeliveredError, send_webhook
from datamill.service.serving.storage.writer import run_as_writer

log = logging.getLogger("datamill.coordinator")

#: Events that one round looks at, notices that it sends, and those that may wait for one address.
_MOST_EVENTS, _MOST_SENT, _MOST_WAITING = 500, 20, 500
#: Time from an attempt to the next one, in seconds: about a day in all.
RETRIES_S = (30.0, 120.0, 600.0, 1800.0, 7200.0, 21600.0, 21600.0, 21600.0)
#: Failures in a row after which an address is given up.
MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class _Due:
    """A notice that is to be sent now."""

    number: int
    target: NoticeTarget
    event_id: int
    body: bytes
    attempts: int


def make_round(now_s: float) -> int:
    """Make and send what is due; return how many arrived. What fails is tried again, or given up.

    Making and entering is the writer's; sending, which takes as long as others like, is this thread's.
    """
    run_as_writer(gather_notices, now_s)
    arrived = 0
    for due in _list_due(now_s):
        trouble = _try_sending(due, int(now_s))
        run_as_writer(_enter_outcome, due, trouble, now_s)
        arrived += not trouble
    return arrived


@transaction.atomic
def gather_notices(now_s: float) -> int:
    """Make notices of the events since the last time; return how many.

    Before the first time nothing happened: a coordinator that is upgraded tells nobody its history.
    """
    latest = Event.objects.aggregate(most=Max("pk"))["most"] or 0
    cursor, made = NoticeCursor.objects.get_or_create(pk=1, defaults={"event_id": latest})
    if made or latest <= cursor.event_id:
        return 0
    targets = list(NoticeTarget.objects.exclude(kind="feed").filter(confirmed=True, paused_unix_s=None))
    events = Event.objects.filter(pk__gt=cursor.event_id, kind__in=KINDS).order_by("pk")
    found = list(events[:_MOST_EVENTS]) if targets else []
    if len(found) == _MOST_EVENTS:
        latest = found[-1].pk
    count = 0
    for event in found:
        concerned = list_concerned(event)
        for target in targets:
            if target.user_id in concerned and KINDS[event.kind] in target.subjects.split():
                count += _add_notice(target, event, now_s)
    NoticeCursor.objects.filter(pk=1).update(event_id=latest)
    return count


def _add_notice(target: NoticeTarget, event: Event, now_s: float) -> bool:
    # An address that takes nothing fills no table.
    if Notice.objects.filter(target=target).count() >= _MOST_WAITING:
        return False
    body = msgspec.json.encode(describe_event(event))
    _, made = Notice.objects.get_or_create(
        target=target, event_id=event.pk, defaults={"body": body, "next_unix_s": now_s}
    )
    return made


def queue_try(target: NoticeTarget, now_s: float) -> None:
    """Send an address a notice that says nothing, so that its user sees whether it arrives.

    Raises:
        InputError: when the address is not confirmed, or something waits for it already.
    """
    if not target.confirmed or target.kind == "feed":
        raise InputError("nothing is sent to this address", remedy="Confirm it first.")
    if target.notice_set.exists():
        raise InputError("a notice is under way already", remedy="Wait until it arrived, or was given up.")
    moment = datetime.fromtimestamp(now_s, UTC).isoformat()
    data = NoticeData(0, None, "", "You asked for it.", f"{find_notice_ways().url}/notices")
    body = msgspec.json.encode(NoticeBody("notice.tried", moment, data))
    Notice.objects.create(target=target, event_id=-int(now_s), body=body, next_unix_s=now_s)


def describe_event(event: Event) -> NoticeBody:
    """Return an event as notices tell it."""
    base = find_notice_ways().url
    name = path = ""
    if event.experiment_id is not None:
        experiments = FleetExperiment.objects.filter(pk=event.experiment_id).values_list("name", flat=True)
        name, path = experiments.first() or "", f"/experiments/{event.experiment_id}"
    elif event.worker_id:
        workers = FleetWorker.objects.filter(pk=event.worker_id).values_list("name", flat=True)
        name = workers.first() or event.worker_id
        path = f"/workers/{name}"
    return NoticeBody(
        type=event.kind.replace(" ", "."),
        timestamp=datetime.fromtimestamp(event.unix_s, UTC).isoformat(),
        data=NoticeData(
            event=event.pk,
            experiment=event.experiment_id,
            name=name,
            detail=event.detail,
            url=f"{base}{path}" if path else "",
        ),
    )


def spell_notice(body: NoticeBody) -> tuple[str, str]:
    """Return a notice as the subject and the text of a mail, with nothing that a reader's terminal obeys."""
    what = body.type.replace(".", " ")
    title = f"datamill: {what}: {body.data.name}" if body.data.name else f"datamill: {what}"
    lines = (f"{what}: {body.data.name}", body.data.detail, body.data.url, f"{body.timestamp}")
    return clean_text(title), clean_text("\n\n".join(line for line in lines if line)) + "\n"


def _list_due(now_s: float) -> list[_Due]:
    """Return what is to be sent now, one for each address: what is slow delays nobody else twice."""
    waiting = Notice.objects.filter(
        next_unix_s__lte=now_s, target__paused_unix_s=None, target__user__is_active=True
    )
    found: dict[int, _Due] = {}
    for row in waiting.select_related("target").order_by("next_unix_s", "pk")[: 10 * _MOST_SENT]:
        due = _Due(row.pk, row.target, row.event_id, bytes(row.body), row.attempts)
        found.setdefault(row.target_id, due)
    return list(found.values())[:_MOST_SENT]


def _try_sending(due: _Due, unix_s: int) -> str:
    """Send a notice; return why it did not arrive, empty when it did."""
    ways = find_notice_ways()
    try:
        if due.target.kind == "webhook":
            webhook = parse_webhook(due.target.address, ways.inner_hosts)
            name = f"datamill-{due.target.pk}-{due.event_id}"
            send_webhook(webhook, due.target.secret, name, unix_s, due.body)
        elif ways.mail is None:
            return "this coordinator sends no mail"
        else:
            body = msgspec.json.decode(due.body, type=NoticeBody)
            send_mail(ways.mail, due.target.address, *spell_notice(body))
    except UndeliveredError as problem:
        return str(problem)
    except InputError as problem:
        return problem.message
    return ""


@transaction.atomic
def _enter_outcome(due: _Due, trouble: str, now_s: float) -> None:
    target = NoticeTarget.objects.filter(pk=due.target.pk)
    if not trouble:
        Notice.objects.filter(pk=due.number).delete()
        target.update(sent_unix_s=now_s, failures=0, trouble="")
        return
    log.info("a notice to %s of user %s: %s", due.target.kind, due.target.user_id, trouble)
    target.update(failures=F("failures") + 1, trouble=trouble)
    target.filter(failures__gte=MOST_FAILURES).update(paused_unix_s=now_s)
    if due.attempts >= len(RETRIES_S):
        Notice.objects.filter(pk=due.number).delete()
    else:
        again_s = now_s + RETRIES_S[due.attempts]
        Notice.objects.filter(pk=due.number).update(attempts=due.attempts + 1, next_unix_s=again_s)
