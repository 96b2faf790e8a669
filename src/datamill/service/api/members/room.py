"""What takes room, how long files are kept, and backups: one's own for everybody, all for administrators."""

from __future__ import annotations

import time
from typing import Annotated

from django.http import HttpRequest
from ninja import Body, Router

from datamill.protocol.api.members.administration import (
    BackupLine,
    RetentionRequest,
    RetentionState,
    Room,
    UserRoom,
)
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import AccountEventKind, check_admin, find_user, record_account_event
from datamill.service.administration.backups import list_backups, make_backup
from datamill.service.administration.retention import describe_retention, set_retention
from datamill.service.administration.storage import measure_room, measure_users
from datamill.service.api.schemas import RequestBody, describe_record

router = Router(tags=["room"])
_PROBLEM = describe_record(Problem)
_KEPT = describe_record(RetentionState)
_BACKUP = describe_record(BackupLine)


@router.get("/me/room", response=describe_record(UserRoom))
def show_own_room(request: HttpRequest) -> UserRoom:
    """Tell what one has here, and may have."""
    return measure_users([find_user(request)])[0]


@router.get("/storage", response={200: describe_record(Room), 403: _PROBLEM})
def show_storage(request: HttpRequest) -> Room:
    """Tell what takes room on the coordinator: administrators only."""
    check_admin(request.user)
    return measure_room()


@router.get("/retention", response={200: _KEPT, 403: _PROBLEM})
def show_retention(request: HttpRequest) -> RetentionState:
    """Tell how long files are kept, and what is older: administrators only."""
    check_admin(request.user)
    return describe_retention(time.time())


@router.post("/retention", response={200: _KEPT, 400: _PROBLEM, 403: _PROBLEM})
def change_retention(
    request: HttpRequest, body: Annotated[RetentionRequest, RequestBody(), Body()]
) -> RetentionState:
    """Say how long files are kept from now on, both of them: administrators only."""
    check_admin(request.user)
    set_retention(find_user(request), body.uploads_days, body.artifacts_days)
    return describe_retention(time.time())


@router.get("/backups", response={200: describe_record(list[BackupLine]), 403: _PROBLEM})
def show_backups(request: HttpRequest) -> list[BackupLine]:
    """List the copies of the database in the data folder, the latest first: administrators only."""
    check_admin(request.user)
    return list_backups()


@router.post("/backups", response={200: _BACKUP, 400: _PROBLEM, 403: _PROBLEM})
def back_up(request: HttpRequest) -> BackupLine:
    """Copy the database into the data folder while all goes on: administrators only."""
    check_admin(request.user)
    made = make_backup(time.time())
    record_account_event(AccountEventKind.BACKUP_MADE, find_user(request), made.name)
    return made
