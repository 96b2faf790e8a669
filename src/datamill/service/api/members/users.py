"""Accounts and their quotas over the API: administrators only."""

from __future__ import annotations

import secrets
import time
from typing import Annotated

from django.contrib.auth.models import User
from django.http import HttpRequest
from msgspec.structs import asdict
from ninja import Body, Path, Router

from datamill.protocol.api.members.administration import (
    MadeUser,
    QuotaRequest,
    UserLine,
    UserList,
    UserRequest,
)
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import NotFoundError, check_admin, find_user, make_user, open_account
from datamill.service.administration.quotas import set_quota
from datamill.service.administration.storage import measure_users
from datamill.service.api.schemas import Name, RequestBody, describe_record

router = Router(tags=["users"])
_PROBLEM = describe_record(Problem)
_LINE = describe_record(UserLine)
_CHANGED = {200: _LINE, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM}
_MOST_ROWS = 200
UserName = Annotated[Name, Path()]


@router.get("/users", response={200: describe_record(UserList), 403: _PROBLEM})
def list_users(request: HttpRequest, after: Name = "") -> UserList:
    """List 200 accounts by name, with what each has here and may have."""
    check_admin(request.user)
    found = list(User.objects.filter(username__gt=after).order_by("username")[: _MOST_ROWS + 1])
    more, found = len(found) > _MOST_ROWS, found[:_MOST_ROWS]
    return UserList(_describe(found), found[-1].username if more else None)


@router.post("/users", response={200: describe_record(MadeUser), 400: _PROBLEM, 403: _PROBLEM})
def add_user(request: HttpRequest, body: Annotated[UserRequest, RequestBody(), Body()]) -> MadeUser:
    """Make an account; its password is shown this once."""
    check_admin(request.user)
    password = secrets.token_urlsafe(12)
    made = make_user(body.name, password, admin=body.admin, now_s=time.time())
    return MadeUser(made.username, password, body.admin)


@router.post("/users/{name}/close", response=_CHANGED)
def close(request: HttpRequest, name: UserName) -> UserLine:
    """Close an account: from now on it can neither log in nor use a key."""
    return _open(request, name, is_open=False)


@router.post("/users/{name}/open", response=_CHANGED)
def reopen(request: HttpRequest, name: UserName) -> UserLine:
    """Open an account again that was closed."""
    return _open(request, name, is_open=True)


@router.post("/users/{name}/quota", response=_CHANGED)
def change_quota(
    request: HttpRequest, name: UserName, body: Annotated[QuotaRequest, RequestBody(), Body()]
) -> UserLine:
    """Give a user a quota, both numbers of it; what is there already stays."""
    check_admin(request.user)
    user = _find(name)
    set_quota(user, find_user(request), body.stored_bytes, body.open_trials)
    return _describe([user])[0]


def _open(request: HttpRequest, name: str, *, is_open: bool) -> UserLine:
    check_admin(request.user)
    account = _find(name)
    open_account(account, find_user(request), is_open=is_open)
    return _describe([account])[0]


def _find(name: str) -> User:
    found = User.objects.filter(username=name).first()
    if found is None:
        raise NotFoundError(f'there is no user "{name}"', where="user")
    return found


def _describe(users: list[User]) -> tuple[UserLine, ...]:
    rooms = measure_users(users)
    return tuple(
        UserLine(**asdict(room), admin=user.is_superuser, active=user.is_active)
        for room, user in zip(rooms, users, strict=True)
    )
