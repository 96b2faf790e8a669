"""Forms that were sent once: a second click, or the way back and another, does nothing a second time."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from datamill.service.accounts import find_user
from datamill.service.keyed_requests.claims import Claim, claiming

#: The field that has a form's name.
FIELD = "form"
#: Characters of a form's name that are looked at.
_MOST_CHARACTERS = 64
#: A second click waits so long for what the first one does.
_WAIT_S = 60.0


class SentForm:
    """A form that was sent; `became` is the page that it led to before, empty when it is new."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self.became = "" if claim.answer is None else claim.answer.body.decode()

    def keep(self, page: str, *arguments: object) -> None:
        """Enter which page it leads to; to be called in the transaction that does what the form asks."""
        self._claim.keep(reverse(page, args=arguments).encode(), 302)


def name_form() -> str:
    """Return the name of a form that is about to be shown."""
    return secrets.token_urlsafe(16)


def find_form_name(request: HttpRequest) -> str:
    """Return the name of the form that was sent, else of the one that the address shows, else a new one."""
    return (request.POST.get(FIELD) or request.GET.get(FIELD) or name_form())[:_MOST_CHARACTERS]


def lead_to_named(request: HttpRequest) -> HttpResponse | None:
    """Lead to the page that is asked for at an address with the name of its form; None where it has one.

    Browsers ask for a page again on the way back: by its address it is the same form, also without scripts.
    """
    if request.method != "GET" or request.GET.get(FIELD):
        return None
    named = request.GET.copy()
    named[FIELD] = name_form()
    return redirect(f"{request.path}?{named.urlencode()}")


@contextmanager
def sending_form(request: HttpRequest) -> Iterator[SentForm]:
    """Have a form of this address do what it asks once, whatever is typed into it the second time.

    Raises:
        KeyInUseError: the first click is still worked on.
    """
    form = request.POST.get(FIELD, "")[:_MOST_CHARACTERS]
    # No key of the API holds a space.
    key = f"form {request.path} {form}" if form else ""
    with claiming(find_user(request), key, "", wait_s=_WAIT_S) as claim:
        yield SentForm(claim)
