"""Keys of one's own: listed, made for some scopes, revoked."""

from __future__ import annotations

import time
from typing import Annotated

from django.http import HttpRequest
from ninja import Body, Router

from datamill.protocol.api.accounts import SCOPES
from datamill.protocol.api.members.keys import KeyLine, KeyRequest, MadeKey, RevocationRequest
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import (
    DeniedError,
    NotFoundError,
    find_user,
    make_api_key,
    revoke_api_key,
)
from datamill.service.api.schemas import RequestBody, describe_record
from datamill.service.models import ApiKey

router = Router(tags=["keys"])
_PROBLEM = describe_record(Problem)
_LINES = describe_record(list[KeyLine])
_MOST_ROWS = 1000


@router.get("/keys", response=_LINES)
def list_keys(request: HttpRequest) -> list[KeyLine]:
    """List one's keys, the latest first, revoked ones as well; the keys themselves are kept nowhere."""
    keys = ApiKey.objects.filter(user=find_user(request)).order_by("-made_unix_s")[:_MOST_ROWS]
    return [KeyLine(key.name, tuple(key.scopes.split()), key.made_unix_s, key.revoked_unix_s) for key in keys]


@router.post("/keys", response={200: describe_record(MadeKey), 400: _PROBLEM, 403: _PROBLEM})
def make_key(request: HttpRequest, body: Annotated[KeyRequest, RequestBody(), Body()]) -> MadeKey:
    """Make a key for some scopes, none of which the asking key lacks; it is shown this once."""
    lacking = [scope for scope in body.scopes if scope not in getattr(request, "key_scopes", SCOPES)]
    if lacking:
        raise DeniedError(
            f"this key lacks the scope {lacking[0]}, and makes no key that has it",
            where="scopes",
            remedy="Make the key on the page of your account.",
        )
    key = make_api_key(find_user(request), body.name, time.time(), body.scopes)
    return MadeKey(body.name, key, tuple(scope for scope in SCOPES if scope in body.scopes))


@router.post("/keys/revoke", response={200: _LINES, 404: _PROBLEM})
def revoke_key(
    request: HttpRequest, body: Annotated[RevocationRequest, RequestBody(), Body()]
) -> list[KeyLine]:
    """Void one's keys of a name, at once; returns all keys."""
    if not revoke_api_key(find_user(request), body.name, time.time()):
        raise NotFoundError(f'you have no key "{body.name}" that is good', where="name")
    return list_keys(request)
