"""The account of everything that happened, for administrators."""

from __future__ import annotations

from urllib.parse import urlencode

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.service.accounts import AccountEventKind, check_admin, find_user
from datamill.service.coordinator.state.events import EventKind
from datamill.service.models import Event, FleetWorker
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.events import tell_events

_EVENTS_A_PAGE = 100
_FILTERS = ("kind", "user", "worker", "experiment", "package")


@require_GET
@member_page
def show_audit(request: HttpRequest) -> HttpResponse:
    """Who did what, with which package, where and when; nothing in it can be changed or removed."""
    check_admin(find_user(request))
    wanted = {name: request.GET.get(name, "").strip() for name in _FILTERS}
    events = Event.objects.all()
    if wanted["kind"]:
        events = events.filter(kind=wanted["kind"])
    if wanted["user"]:
        events = events.filter(user=wanted["user"])
    if wanted["worker"]:
        ids = FleetWorker.objects.filter(name=wanted["worker"]).values_list("worker_id", flat=True)
        events = events.filter(worker_id__in=[*ids, wanted["worker"]])
    if wanted["experiment"].isascii() and wanted["experiment"].isdigit():
        events = events.filter(experiment_id=min(int(wanted["experiment"]), 2**63 - 1))
    if wanted["package"]:
        events = events.filter(package_sha256__startswith=wanted["package"].lower())
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit():
        events = events.filter(pk__lt=min(int(before), 2**63 - 1))
    found = list(events.order_by("-pk")[: _EVENTS_A_PAGE + 1])
    more, found = len(found) > _EVENTS_A_PAGE, found[:_EVENTS_A_PAGE]
    context = {
        "events": tell_events(found),
        "wanted": wanted,
        "kinds": [*EventKind, *AccountEventKind],
        "older": urlencode({**{k: v for k, v in wanted.items() if v}, "before": found[-1].pk})
        if more
        else "",
        "latest": Event.objects.aggregate(latest=Max("pk"))["latest"] or 0,
        "begins_late": bool(before),
    }
    return show_page(request, "accounts/audit.html", context, section="audit")
