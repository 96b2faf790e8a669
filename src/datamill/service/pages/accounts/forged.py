"""Forms without the proof that a page of ours sent them: forged, or of a page from before the last login."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from datamill.service.pages.access import show_page
from datamill.service.pages.accounts.typed import read_typed


def refuse_forged(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Do nothing of what a form asks; what was typed into one that takes long is shown, to be sent anew.

    A forger gains nothing: all that the shown form does is to fill the page on which its user decides.
    """
    typed = read_typed(request) if request.user.is_authenticated else None
    if typed is None:
        return show_page(request, "accounts/forged.html", {}, status=403)
    return show_page(request, "accounts/login_resumed.html", {"typed": typed, "is_stale": True}, status=403)
