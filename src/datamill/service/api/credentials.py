"""Who asks: an API key in the header, or the session of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ninja.security import HttpBearer, django_auth

from datamill.service.accounts import find_user_of_key

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.http import HttpRequest


class UserKey(HttpBearer):
    """`Authorization: Bearer KEY` with the key of a user."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Return whose key it is and make that the user of the request."""
        user = find_user_of_key(token)
        if user is not None:
            request.user = user
        return user


#: Browsers send a token against forged requests along with their session; keys need none.
EITHER = [UserKey(), django_auth]
