"""The page of the administration: what takes room, quotas, how long files are kept, backups."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import parse_size
from datamill.service.accounts import (
    AccountEventKind,
    NotFoundError,
    check_admin,
    find_user,
    record_account_event,
)
from datamill.service.administration.backups import list_backups, make_backup
from datamill.service.administration.quotas import set_quota
from datamill.service.administration.retention import (
    SHOWN_DAYS,
    describe_retention,
    set_retention,
)
from datamill.service.administration.storage import measure_room, measure_users
from datamill.service.pages.access import member_page, show_page

_USERS_A_PAGE = 50


@require_GET
@member_page
def show_administration(request: HttpRequest) -> HttpResponse:
    """What is here, whose it is, and what is done about it."""
    check_admin(find_user(request))
    retention = describe_retention(time.time())
    page = Paginator(User.objects.order_by("username"), _USERS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "room": measure_room(),
        "users": measure_users(list(page)),
        "page": page,
        "base": reverse("administration"),
        "query": "",
        "retention": retention,
        "shown_days": SHOWN_DAYS,
        "uploads": retention.uploads,
        "artifacts": retention.artifacts,
        "backups": list_backups(),
    }
    return show_page(request, "administration/administration.html", context, section="administration")


@require_POST
@member_page
def change_quota(request: HttpRequest) -> HttpResponse:
    """Give a user a quota."""
    admin = find_user(request)
    check_admin(admin)
    user = User.objects.filter(username=request.POST.get("name", "")).first()
    if user is None:
        raise NotFoundError("there is no such user")
    set_quota(user, admin, _read_size(request, "stored"), _read_number(request, "trials"))
    messages.success(request, f"The quota of {user.username} is set.", extra_tags="good")
    return redirect("administration")


@require_POST
@member_page
def change_retention(request: HttpRequest) -> HttpResponse:
    """Say how long files are kept."""
    admin = find_user(request)
    check_admin(admin)
    set_retention(admin, _read_number(request, "uploads"), _read_number(request, "artifacts"))
    messages.success(request, "From now on files are kept as you said.", extra_tags="good")
    return redirect("administration")


@require_POST
@member_page
def back_up(request: HttpRequest) -> HttpResponse:
    """Copy the database into the data folder."""
    admin = find_user(request)
    check_admin(admin)
    made = make_backup(time.time())
    record_account_event(AccountEventKind.BACKUP_MADE, admin, made.name)
    messages.success(request, f"{made.name} is made.", extra_tags="good")
    return redirect("administration")


def _read_number(request: HttpRequest, field: str) -> int | None:
    text = request.POST.get(field, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InputError(f'"{text[:40]}" is not a whole number', where=field, remedy="Write, say, 90.")
    return int(text)


def _read_size(request: HttpRequest, field: str) -> int | None:
    text = request.POST.get(field, "").strip()
    return parse_size(text, where=field) if text else None
