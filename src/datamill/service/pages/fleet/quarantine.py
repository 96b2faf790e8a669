"""The page of packages that are not handed out any more."""

from __future__ import annotations

import time

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.service.accounts import NotFoundError, check_admin, find_user
from datamill.service.coordinator.presence.health import lift_quarantine
from datamill.service.files.rights import may_user_read
from datamill.service.models import Quarantine, StoredFile
from datamill.service.pages.access import member_page, show_page
from datamill.service.serving.storage.writer import run_as_writer

_MOST_SHOWN = 200


@require_GET
@member_page
def show_quarantine(request: HttpRequest) -> HttpResponse:
    """Packages in quarantine, and those that were."""
    latest = Quarantine.objects.order_by("-pk")[:_MOST_SHOWN]
    rows = [row for row in latest if may_user_read(find_user(request), row.sha256)]
    names = dict(StoredFile.objects.filter(pk__in=[row.sha256 for row in rows]).values_list("pk", "name"))
    told = [(row, names.get(row.sha256, "")) for row in rows]
    context = {
        "barred": [item for item in told if item[0].lifted_unix_s is None],
        "lifted": [item for item in told if item[0].lifted_unix_s is not None],
    }
    return show_page(request, "fleet/quarantine.html", context, section="quarantine")


@require_POST
@member_page
def lift(request: HttpRequest, sha256: str) -> HttpResponse:
    """Let a package be handed out again."""
    check_admin(find_user(request))
    if not Quarantine.objects.filter(sha256=sha256, lifted_unix_s=None).exists():
        raise NotFoundError("this package is not in quarantine")
    run_as_writer(lift_quarantine, sha256, find_user(request), time.time())
    messages.success(request, "Lifted: the package is handed out again.", extra_tags="good")
    return redirect("quarantine")
