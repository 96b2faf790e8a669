"""The page of notices: where one wants to hear of what happened, and what happened."""

from __future__ import annotations

import time

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.service.accounts import NotFoundError, find_user
from datamill.service.front_door.visitors.guesses import SECRETS
from datamill.service.models import NoticeTarget
from datamill.service.notices.feed import write_feed
from datamill.service.notices.rounds import queue_try
from datamill.service.notices.subjects import SUBJECTS, list_events_of, read_subjects
from datamill.service.notices.targets import (
    add_feed,
    add_mail,
    add_webhook,
    confirm_mail,
    find_feed,
    find_target,
    resume_target,
)
from datamill.service.notices.ways import find_notice_ways
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.accounts.login import read_address
from datamill.service.pages.experiments.events import tell_events

_MOST_SHOWN = 30


@require_GET
@member_page
def show_notices(request: HttpRequest) -> HttpResponse:
    """Addresses of a user, and the latest notices."""
    return _show(request)


@require_POST
@member_page
def add_target(request: HttpRequest) -> HttpResponse:
    """Enter an address; what is secret of it is shown once."""
    user, now_s = find_user(request), time.time()
    kind, address = request.POST.get("kind", ""), request.POST.get("address", "").strip()
    subjects = read_subjects(request.POST.getlist("subject"))
    try:
        if kind == "webhook":
            _, secret = add_webhook(user, address, subjects, now_s)
            return _show(request, secret=secret)
        if kind == "mail":
            add_mail(user, address, subjects, now_s)
            text = f"A code went to {address}: type it below, and notices follow."
            messages.success(request, text, extra_tags="good")
            return redirect("notices")
        if kind == "feed":
            key = add_feed(user, subjects, now_s)
            return _show(request, feed=request.build_absolute_uri(f"/notices.atom?key={key}"))
        raise InputError("choose how you want to hear of it", remedy="By webhook, mail or feed.")
    except InputError as problem:
        return _show(request, status=400, problem=problem, typed=address, typed_kind=kind)


@require_POST
@member_page
def change_target(request: HttpRequest, number: int, change: str) -> HttpResponse:
    """Confirm, try, resume or remove an address of one's own."""
    user, now_s = find_user(request), time.time()
    target = find_target(user, number)
    if change == "remove":
        target.delete()
        said = "Removed: nothing goes there any more."
    elif change == "confirm":
        confirm_mail(user, number, request.POST.get("code", "")[:100])
        said = f"{target.address} is confirmed."
    elif change == "resume":
        resume_target(user, number, now_s)
        said = "What waited for it is sent again."
    elif change == "try":
        queue_try(target, now_s)
        said = "A notice that says nothing is on its way; reload this page to see whether it arrived."
    else:
        raise NotFoundError("there is no such action")
    messages.success(request, said, extra_tags="good")
    return redirect("notices")


@require_GET
def send_feed(request: HttpRequest) -> HttpResponse:
    """The feed of whoever made the key: readers of news do not log in."""
    key = request.GET.get("key", "")[:100]
    found = find_feed(key)
    if found is None:
        return _refuse_feed(request, has_key=bool(key))
    events = list_events_of(found.user, found.subjects.split(), _MOST_SHOWN)
    url = find_notice_ways().url or request.build_absolute_uri("/").rstrip("/")
    feed = write_feed(found.user.username, url, events, found.made_unix_s)
    response = HttpResponse(feed, content_type="application/atom+xml; charset=utf-8")
    response["Cache-Control"] = "private, max-age=60"
    return response


def _refuse_feed(request: HttpRequest, *, has_key: bool) -> HttpResponse:
    """Refuse a key that no feed has, which is counted as those of the API are."""
    wait_s = SECRETS.begin(read_address(request)) if has_key else 0.0
    told, status = (
        ("There is no such feed.", 404) if wait_s <= 0 else ("Too many keys that no feed has.", 429)
    )
    answer = HttpResponse(f"{told}\n", status=status, content_type="text/plain; charset=utf-8")
    if wait_s > 0:
        answer["Retry-After"] = str(int(wait_s) + 1)
    return answer


def _show(request: HttpRequest, status: int = 200, **extra: object) -> HttpResponse:
    user = find_user(request)
    events = list_events_of(user, tuple(SUBJECTS), _MOST_SHOWN)
    context = {
        "targets": [
            (target, [SUBJECTS[name].words for name in target.subjects.split() if name in SUBJECTS])
            for target in NoticeTarget.objects.filter(user=user).order_by("pk")
        ],
        "subjects": {name: subject.words for name, subject in SUBJECTS.items()},
        "sends_mail": find_notice_ways().mail is not None,
        "events": tell_events(events),
        **extra,
    }
    response = show_page(request, "notices/notices.html", context, section="account", status=status)
    if "secret" in extra or "feed" in extra:
        response["Cache-Control"] = "no-store"
    return response
