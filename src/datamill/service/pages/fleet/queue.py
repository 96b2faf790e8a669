"""The page of the queue: who waits, what each was promised and received, and the shares."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.service.accounts import NotFoundError, check_admin, find_user
from datamill.service.coordinator.sharing.shares import set_share
from datamill.service.pages.access import member_page, show_page
from datamill.service.queue.queue_state import describe_queue, describe_share, describe_shares
from datamill.service.serving.storage.writer import run_as_writer

LEAST_SHARE, MOST_SHARE = 0.01, 100.0


@require_GET
@member_page
def show_queue(request: HttpRequest) -> HttpResponse:
    """Who waits for what, and for administrators the shares of all users."""
    user = find_user(request)
    context: dict[str, object] = {"queue": describe_queue(user, time.time()), "mine": describe_share(user)}
    if user.is_superuser:
        context["shares"] = describe_shares(list(User.objects.order_by("username")))
    return show_page(request, "fleet/queue.html", context, section="queue")


@require_POST
@member_page
def change_share(request: HttpRequest) -> HttpResponse:
    """Give a user a share."""
    admin = find_user(request)
    check_admin(admin)
    user = User.objects.filter(username=request.POST.get("name", "")).first()
    if user is None:
        raise NotFoundError("there is no such user")
    try:
        share = float(request.POST.get("share", ""))
    except ValueError:
        share = 0.0
    if not LEAST_SHARE <= share <= MOST_SHARE:
        raise InputError(
            "a share is from 0.01 to 100", where="share", remedy="1 is the usual one; 2 is twice as much."
        )
    run_as_writer(set_share, user, share, admin, time.time())
    messages.success(request, f"{user.username} has another share from the next turn on.", extra_tags="good")
    return redirect("queue")
