"""Where a new experiment begins: from a template, from another experiment, or from nothing."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.service.accounts import find_user, list_visible_experiments
from datamill.service.experiment_search import MOST_CHARACTERS, split_search
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.new_experiment.fleet_view import list_fleet
from datamill.service.pages.new_experiment.starting_points import offer_templates

_MOST_EXPERIMENTS = 12


@require_GET
@member_page
def choose_beginning(request: HttpRequest) -> HttpResponse:
    """Templates, and the latest experiments of oneself and others that can be forked."""
    user = find_user(request)
    search = request.GET.get("search", "")[:MOST_CHARACTERS].strip()
    experiments = list_visible_experiments(user).filter(Q(owner=user) | Q(public=True))
    for word in split_search(search):
        named = Q(name__icontains=word) | Q(text__icontains=word) | Q(owner__username__iexact=word)
        experiments = experiments.filter(named)
    latest = experiments.select_related("owner").defer("text", "head", "design").order_by("-id")
    context = {
        "offered": offer_templates(list_fleet(user)),
        "experiments": latest[:_MOST_EXPERIMENTS],
        "search": search,
    }
    return show_page(request, "new_experiment/new_beginning.html", context, section="new")
