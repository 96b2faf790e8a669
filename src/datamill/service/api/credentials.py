"""Who asks: an API key in the header, or the session of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ninja.errors import HttpError
from ninja.security import HttpBearer
from ninja.utils import check_csrf

from datamill.experiment.messages.numbers import format_fixed
from datamill.service.accounts import check_scope, find_key
from datamill.service.api.scopes import find_scope
from datamill.service.front_door.visitors.guesses import SECRETS
from datamill.service.front_door.visitors.visitors import mark_member

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
    from django.http import HttpRequest


class TooManyGuessesError(Exception):
    """So many keys or tokens that nobody has came from there that the next is not looked at for `wait_s`."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"{format_fixed(wait_s, 0)} s")
        self.wait_s = wait_s


class UserKey(HttpBearer):
    """`Authorization: Bearer KEY` with the key of a user, or the session of a browser that sends no key.

    A request with a key is known by that key or not at all. One with a session needs the proof against forged
    requests to change anything; a stranger has no session, and is told that there is no key.
    """

    def __call__(self, request: HttpRequest) -> User | AbstractBaseUser | AnonymousUser | None:
        """Return who asks, None when it is nobody known.

        Raises:
            TooManyGuessesError: for a wrong key after many others.
            HttpError: for a session without the proof.
        """
        if "Authorization" in request.headers:
            user = super().__call__(request)
            if user is None:
                note_unknown_secret(request)
            return user
        if not request.user.is_authenticated:
            return None
        if not getattr(request, "_ninja_csrf_exempt", False) and check_csrf(request):
            raise HttpError(403, "the request lacks the proof that a page of ours sent it")
        mark_member(getattr(request, "scope", None))
        return request.user

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Return whose key it is and make that the user of the request.

        Raises:
            DeniedError: the key may not be used for that.
        """
        key = find_key(token)
        if key is None:
            return None
        request.user = key.user
        mark_member(getattr(request, "scope", None))
        route = "" if request.resolver_match is None else request.resolver_match.route
        check_scope(key, find_scope(request.method or "", route))
        # A session may do what its user may, a key no more than what it was made for.
        request.key_scopes = key.scopes.split()  # type: ignore[attr-defined]
        return key.user


def note_unknown_secret(request: HttpRequest) -> None:
    """Count a key or token that nobody has.

    Raises:
        TooManyGuessesError: when many came from there.
    """
    wait_s = SECRETS.begin(str(request.META.get("REMOTE_ADDR", "")))
    if wait_s > 0:
        raise TooManyGuessesError(wait_s)


#: Browsers send a token against forged requests along with their session; keys need none.
EITHER = [UserKey()]
