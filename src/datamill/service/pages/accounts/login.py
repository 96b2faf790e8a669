"""Logging in: guessing passwords is slow, and shows."""

from __future__ import annotations

import time

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from datamill.experiment.quantities import format_duration
from datamill.service.accounts import AccountEventKind
from datamill.service.front_door.visitors.guesses import HASHING, PASSWORDS, read_name
from datamill.service.models import Event
from datamill.service.pages.access import show_page
from datamill.service.pages.accounts.typed import carry_typed, take_up

_BUSY_RETRY_S = 10


class ThrottledLogin(LoginView):
    """The page where one logs in."""

    template_name = "datamill/accounts/login.html"
    #: Django takes PUT for POST otherwise.
    http_method_names = ("get", "head", "post", "options")
    redirect_authenticated_user = False

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Look at name and password, unless too many were wrong, or too many come at once."""
        wait_s = PASSWORDS.begin(read_address(request), _read_account(request))
        if wait_s > 0:
            return self._refuse(429, wait_s, wait=format_duration(wait_s))
        with HASHING.turn() as is_ours:
            if is_ours:
                return super().post(request, *args, **kwargs)
        # Nobody looked at it.
        PASSWORDS.take_back(read_address(request), _read_account(request))
        return self._refuse(503, _BUSY_RETRY_S, is_busy=True)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Let in; what was typed before the session ended can be sent now."""
        PASSWORDS.forget(read_address(self.request), _read_account(self.request))
        answer = super().form_valid(form)
        typed = take_up(self.request.POST, self.get_success_url())
        if typed is None:
            return answer
        return show_page(self.request, "accounts/login_resumed.html", {"typed": typed})

    def get_context_data(self, **context: object) -> dict[str, object]:
        """Return what the page shows, with what was typed before the session ended."""
        typed = take_up(self.request.POST, "")
        carried = [] if typed is None else carry_typed(typed)
        return {**super().get_context_data(**context), "typed": carried}

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Tell the account of events when it becomes too much."""
        account, address = _read_account(self.request), read_address(self.request)
        if PASSWORDS.is_full(address, account):
            # Names that are no account's may be passwords that someone typed into the wrong field.
            found = User.objects.filter(username=read_name(account).replace("\0", "")).first()
            Event.objects.create(
                unix_s=time.time(),
                kind=AccountEventKind.LOGINS_REFUSED,
                user=found.username if found is not None else "",
                detail=f"Too many wrong passwords from {address}.",
            )
        return super().form_invalid(form)

    def _refuse(self, status: int, wait_s: float, **told: object) -> HttpResponse:
        context = self.get_context_data(form=self.form_class(self.request), **told)
        answer = self.render_to_response(context, status=status)
        answer["Retry-After"] = str(int(wait_s) + 1)
        return answer


def _read_account(request: HttpRequest) -> str:
    # A try without a name is one for an account, too.
    return str(request.POST.get("username", "")) or " "


def read_address(request: HttpRequest) -> str:
    """Return from where a request comes: the other end of the connection, a proxy included."""
    return str(request.META.get("REMOTE_ADDR", ""))
