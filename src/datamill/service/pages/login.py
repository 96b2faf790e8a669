"""Logging in: guessing passwords is slow, and shows."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from datamill.experiment.quantities import format_duration
from datamill.service.accounts import AccountEventKind
from datamill.service.models import Event

#: Wrong passwords that are taken within the time below, from one address: for one account, and for all.
MOST_FOR_ACCOUNT = 8
MOST_FROM_ADDRESS = 40
FORGET_S = 600.0
#: Accounts and addresses that are remembered: whoever has more addresses than that is not held up by this.
_MOST_REMEMBERED = 20_000


class LoginThrottle:
    """Counts wrong passwords of the last minutes, in the memory of the one process that serves pages.

    Counted is for account and address together: nobody can lock an account's owner out from elsewhere.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._failures: OrderedDict[tuple[str, str], list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def find_wait_s(self, account: str, address: str) -> float:
        """Return for how long this account's password is not looked at, if it comes from this address."""
        now_s = self._clock_s()
        waits = [0.0]
        with self._lock:
            for key, most in _list_keys(account, address):
                times = [then_s for then_s in self._failures.get(key, ()) if now_s - then_s < FORGET_S]
                if len(times) >= most:
                    waits.append(times[-most] + FORGET_S - now_s)
        return max(waits)

    def note_failure(self, account: str, address: str) -> bool:
        """Note a wrong password; return whether the next one has to wait."""
        now_s = self._clock_s()
        full = False
        with self._lock:
            for key, most in _list_keys(account, address):
                times = [then_s for then_s in self._failures.pop(key, ()) if now_s - then_s < FORGET_S]
                self._failures[key] = [*times, now_s][-most:]
                full = full or len(self._failures[key]) >= most
            while len(self._failures) > _MOST_REMEMBERED:
                self._failures.popitem(last=False)
        return full

    def forget(self, account: str, address: str) -> None:
        """Forget the wrong passwords of an account whose right one came."""
        with self._lock:
            self._failures.pop((account, address), None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._failures.clear()


def _list_keys(account: str, address: str) -> tuple[tuple[tuple[str, str], int], ...]:
    return ((account, address), MOST_FOR_ACCOUNT), (("", address), MOST_FROM_ADDRESS)


THROTTLE = LoginThrottle()


class ThrottledLogin(LoginView):
    """The page where one logs in."""

    template_name = "datamill/login.html"
    #: Django takes PUT for POST otherwise.
    http_method_names = ("get", "head", "post", "options")
    redirect_authenticated_user = False

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Look at name and password, unless too many were wrong."""
        wait_s = THROTTLE.find_wait_s(_read_account(request), _read_address(request))
        if wait_s > 0:
            context = self.get_context_data(form=self.form_class(request), wait=format_duration(wait_s))
            answer = self.render_to_response(context, status=429)
            answer["Retry-After"] = str(int(wait_s) + 1)
            return answer
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Let in."""
        THROTTLE.forget(_read_account(self.request), _read_address(self.request))
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Count what was wrong, and tell the account of events when it becomes too much."""
        account, address = _read_account(self.request), _read_address(self.request)
        if THROTTLE.note_failure(account, address):
            # Names that are no account's may be passwords that someone typed into the wrong field.
            known = account if User.objects.filter(username=account).exists() else ""
            Event.objects.create(
                unix_s=time.time(),
                kind=AccountEventKind.LOGINS_REFUSED,
                user=known,
                detail=f"Too many wrong passwords from {address}.",
            )
        return super().form_invalid(form)


def _read_account(request: HttpRequest) -> str:
    return str(request.POST.get("username", ""))[:150].replace("\0", "")


def _read_address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
