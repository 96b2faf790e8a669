"""Who may open a page, and what those see who may not."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlsplit, urlunsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from datamill.experiment.errors import InputError
from datamill.service.accounts import DeniedError, NotFoundError
from datamill.service.bounded_work.turns import BusyError
from datamill.service.files.store import AwayError
from datamill.service.front_door.referring_page import find_referring_page
from datamill.service.front_door.visitors.visitors import mark_member
from datamill.service.pages.accounts.typed import carry_typed, read_typed
from datamill.service.pages.labels import spell_problems

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def show_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, section: str = "", status: int = 200
) -> HttpResponse:
    """Render a page; `section` is the entry of the menu that it belongs to."""
    common = {"section": section, "version": version("datamill")}
    return render(request, f"datamill/{template}", common | spell_problems(context), status=status)


def member_page(view: View[P]) -> View[P]:
    """Let in who is logged in, and answer with a page that explains where a view raises an `InputError`."""

    @wraps(view)
    def answer(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _ask_for_login(request)
        mark_member(getattr(request, "scope", None))
        return _answer(request, lambda: view(request, *args, **kwargs))

    return answer  # type: ignore[return-value]


def open_page(view: View[P]) -> View[P]:
    """Let in everybody, and answer with a page that explains where a view raises an `InputError`."""

    @wraps(view)
    def answer(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            mark_member(getattr(request, "scope", None))
        return _answer(request, lambda: view(request, *args, **kwargs))

    return answer  # type: ignore[return-value]


def _answer(request: HttpRequest, look: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    try:
        _refuse_nul(request)
        return look()
    except NotFoundError as error:
        return refuse(request, error, "Not found", 404)
    except DeniedError as error:
        return refuse(request, error, "Not allowed", 403)
    except BusyError as error:
        if request.method == "GET" and "HX-Request" in request.headers:
            # A part that is refused would stay empty: it is asked for again.
            context = {"path": request.get_full_path(), "wait_s": error.RETRY_AFTER_S}
            return show_page(request, "parts/busy.html", context)
        refused = refuse(request, error, "Not now", 429)
        refused["Retry-After"] = str(error.RETRY_AFTER_S)
        return refused
    except AwayError as error:
        refused = refuse(request, error, "Not now", 503)
        refused["Retry-After"] = str(error.RETRY_AFTER_S)
        return refused
    except InputError as error:
        return refuse(request, error, "This does not work", 400)


def _ask_for_login(request: HttpRequest) -> HttpResponseBase:
    """Send whoever is not logged in to the page where one does; parts of a page send the whole page.

    What was typed stays: carried by the login where it was sent, on its page where that asks for a part.
    """
    typed = read_typed(request)
    if typed is not None and "HX-Request" in request.headers:
        return show_page(request, "parts/session_ended.html", {})
    if typed is not None:
        context = {"typed": carry_typed(typed), "next": typed.path}
        return show_page(request, "accounts/login.html", context, status=403)
    if "HX-Request" not in request.headers:
        if request.method == "GET":
            return redirect_to_login(request.get_full_path())
        # What was asked is not done after the login either: one is back at the page that asked for it.
        way_back = find_referring_page(request.headers.get("Referer", ""), request.get_host())
        return redirect_to_login(way_back or reverse("experiments"))
    here = urlsplit(request.headers.get("HX-Current-URL", "/"))
    way = redirect_to_login(urlunsplit(("", "", here.path, here.query, "")))["Location"]
    return HttpResponse(status=204, headers={"HX-Redirect": way})


def _refuse_nul(request: HttpRequest) -> None:
    """PostgreSQL cannot keep or compare a NUL, and nobody means one."""
    sent = (value for data in (request.GET, request.POST) for _, values in data.lists() for value in values)
    if "\0" in request.path or any("\0" in value for value in sent):
        raise InputError("a text holds a NUL character", remedy="Leave it out.")


def refuse(request: HttpRequest, error: InputError, title: str, status: int) -> HttpResponse:
    """Explain why a page is not shown."""
    return show_page(
        request, "refused.html", {"error": error, "title": title, "status": status}, status=status
    )
