"""Publishing an experiment of one's own, and withdrawing what was published."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from datamill.experiment.errors import InputError
from datamill.results.crates.description import LICENCES, USUAL_LICENCE, Description, describe
from datamill.service.accounts import find_own_experiment, find_user
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.models import Publication
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.sent_forms import find_form_name, lead_to_named, sending_form
from datamill.service.publishing.publishing import (
    HELD_BACK,
    find_publication,
    publish_experiment,
    suggest_title,
    withdraw_publication,
)
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.watching.places import FullError

if TYPE_CHECKING:
    from datamill.service.models import FleetExperiment


@require_http_methods(["GET", "POST"])
@member_page
def publish(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The form of a publication; sent, the publication."""
    user = find_user(request)
    experiment = find_own_experiment(user, experiment_id)
    if (named := lead_to_named(request)) is not None:
        return named
    sent = request.POST
    context: dict[str, object] = {
        "experiment": experiment,
        "ended": experiment.state in ENDED_EXPERIMENTS,
        "licences": LICENCES,
        "parts": HELD_BACK,
        "held_back": sent.getlist("hold"),
        "title": sent.get("title", suggest_title(experiment)),
        "authors": sent.get("authors", user.get_full_name() or user.username),
        "licence": sent.get("licence", USUAL_LICENCE),
        "summary": sent.get("summary", ""),
        "organisation": sent.get("organisation", ""),
        "form_name": find_form_name(request),
        "earlier": Publication.objects.filter(experiment=experiment).order_by("-published_unix_s"),
    }
    # With "check" the form comes back from a login: its user looks at it before anything is published.
    if request.method == "POST" and "check" not in sent:
        try:
            became, is_new = _publish(request, experiment)
        except (BusyError, GoneError):
            raise
        except InputError as problem:
            context["problem"] = problem
        else:
            if is_new:
                messages.success(request, "Published. Cite it by this address.", extra_tags="good")
            else:
                text = "This form was sent before, and this is what it became. Nothing was changed."
                messages.info(request, text, extra_tags="info")
            return redirect(became)
    return show_page(
        request,
        "publications/publish.html",
        context,
        section="experiments",
        status=400 if "problem" in context else 200,
    )


def _publish(request: HttpRequest, experiment: FleetExperiment) -> tuple[str, bool]:
    """Publish; return the address, and whether it is new: a form that was sent publishes once."""
    sent = request.POST
    if "everybody" not in sent:
        raise InputError(
            "you did not say that everybody may read it",
            remedy="Tick it: a publication is for everybody who reaches this coordinator, and for ever.",
        )

    def make(key: str) -> Description:
        return describe(
            sent.get("title", ""),
            sent.get("authors", ""),
            sent.get("licence", ""),
            now_s=time.time(),
            summary=sent.get("summary", ""),
            address=request.build_absolute_uri(reverse("publication", args=[key])),
            organisation=sent.get("organisation", ""),
        )

    # What is wrong in the form is said before anything is written.
    make("0" * 12)
    held_back = tuple(name for name in HELD_BACK if name in sent.getlist("hold"))
    try:
        with sending_form(request) as form:
            if form.became:
                return form.became, False
            published = publish_experiment(
                experiment,
                find_user(request),
                make,
                held_back=held_back,
                enter_more=lambda made: form.keep("publication", made.key),
            )
    except FullError as full:
        raise BusyError(str(full)) from None
    except BundleError:
        raise InputError("the coordinator's records of this experiment do not fit each other") from None
    return reverse("publication", args=[published.key]), True


@require_POST
@member_page
def withdraw(request: HttpRequest, key: str) -> HttpResponse:
    """Withdraw a publication of one's own; its address says why from now on."""
    withdraw_publication(find_publication(key), find_user(request), request.POST.get("reason", ""))
    messages.info(request, "Withdrawn. Its address says so, and why.", extra_tags="info")
    return redirect("publication", key)
