"""Pages of the factors: all of the fleet, and one with what each machine has of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.factors.catalogue import FACTORS
from datamill.protocol.api.fleet.factors import FleetFactor
from datamill.service import accounts
from datamill.service.coordinator.joining import fleet_factors
from datamill.service.coordinator.registry.registered import list_known_names
from datamill.service.coordinator.registry.rules import allow_factor, forbid_factor
from datamill.service.experiment_search import MOST_CHARACTERS, split_search
from datamill.service.pages.access import member_page, show_page
from datamill.service.serving.storage.writer import run_as_writer


@require_GET
@member_page
def list_fleet_factors(request: HttpRequest) -> HttpResponse:
    """All factors, or those that a search finds, with how many machines have each level."""
    search = request.GET.get("search", "")[:MOST_CHARACTERS].strip()
    words = split_search(search.lower())
    found = [item for item in fleet_factors.list_fleet_factors() if _has_words(item, words)]
    context = {"factors": found, "search": search}
    return show_page(request, "fleet/factors.html", context, section="factors")


@require_GET
@member_page
def show_factor(request: HttpRequest, name: str) -> HttpResponse:
    """One factor: what it is, what each machine has of it, whether it is allowed."""
    _check_exists(name)
    context = {
        "factor": fleet_factors.describe_fleet_factor(name),
        "known": FACTORS.get(name),
        "admin": accounts.is_admin(accounts.find_user(request)),
    }
    return show_page(request, "fleet/factor.html", context, section="factors")


@require_POST
@member_page
def change_rule(request: HttpRequest, name: str, change: str) -> HttpResponse:
    """Forbid a factor on the whole fleet, or allow it again."""
    user = accounts.find_user(request)
    accounts.check_admin(user)
    _check_exists(name)
    if change == "forbid":
        run_as_writer(forbid_factor, name, request.POST.get("reason", ""), user, time.time())
        said = f"{name} is forbidden in what is submitted from now on."
    elif change == "allow":
        run_as_writer(allow_factor, name, user, time.time())
        said = f"{name} is allowed again."
    else:
        raise accounts.NotFoundError("there is no such action")
    messages.success(request, said, extra_tags="good")
    return redirect("factor", name)


def _has_words(factor: FleetFactor, words: Sequence[str]) -> bool:
    """Tell whether a factor has all words in its name, stage, summary, owner or levels."""
    texts = (factor.name, factor.stage, factor.summary, factor.owner or "datamill", *factor.levels)
    text = "\n".join(texts).lower()
    return all(word in text for word in words)


def _check_exists(name: str) -> None:
    if name not in list_known_names():
        raise accounts.NotFoundError(f'there is no factor "{name}"')
