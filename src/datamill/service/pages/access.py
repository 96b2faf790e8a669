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
    """Render a page; `section` is the entry of the menu that it belongs to.

    While the storage of files does not answer, a page that needs it has status 503 and says when to ask
    again; a part of a page asks again by itself.
    """
    away = next((value for value in context.values() if isinstance(value, AwayError)), None)
    if away is not None and _is_read_part(request):
        sentence = f"{away.message[:1].upper()}{away.message[1:]}. {away.remedy}"
        part = _ask_again(request, sentence, away.RETRY_AFTER_S, 503)
        part["Retry-After"] = str(away.RETRY_AFTER_S)
        return part
    common = {"section": section, "version": version("datamill")}
    page = render(
        request,
        f"datamill/{template}",
        common | spell_problems(context),
        status=status if away is None else 503,
    )
    if away is not None:
        page["Retry-After"] = str(away.RETRY_AFTER_S)
    return page


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
        if _is_read_part(request):
            return _ask_again(request, "The coordinator is working for others.", error.RETRY_AFTER_S, 200)
        refused = refuse(request, error, "Not now", 429)
        refused["Retry-After"] = str(error.RETRY_AFTER_S)
        return refused
    except AwayError as error:
        return refuse(request, error, "Not now", 503)
    except InputError as error:
        return refuse(request, error, "This does not work", 400)


def _is_read_part(request: HttpRequest) -> bool:
    return request.method == "GET" and "HX-Request" in request.headers


def _ask_again(request: HttpRequest, sentence: str, wait_s: int, status: int) -> HttpResponse:
    """Answer with a part that is asked for again: one that is refused would stay empty.

    It stands where the part would stand, and under its name, so that others find it there.
    """
    context = {
        "sentence": sentence,
        "path": request.get_full_path(),
        "wait_s": wait_s,
        "name": request.headers.get("HX-Target", ""),
    }
    return render(request, "datamill/parts/asked_again.html", context, status=status)


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
