"""Packages of the store: a list of versions, and one with what is in it and who used it."""

from __future__ import annotations

from typing import Annotated

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest
from msgspec.structs import asdict
from ninja import Path, Router

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import speak_command_line
from datamill.protocol.api.fleet.packages import (
    PackageDetail,
    PackageFileLine,
    PackageLine,
    PackageList,
    PackageScript,
    PackageUseLine,
)
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_user
from datamill.service.api.schemas import Name, Sha256, describe_record
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.experiment_search import split_search
from datamill.service.files.store import AwayError
from datamill.service.models import StoredFile
from datamill.service.packages.contents import PackageContents, read_contents
from datamill.service.packages.listing import (
    describe_packages,
    find_package,
    list_own_packages,
    list_uses,
    list_visible_packages,
    search_packages,
)

router = Router(tags=["packages"])
_PROBLEM = describe_record(Problem)
_MOST_ROWS = 200
_NOTHING = PackageContents((), 0, 0, ())


@router.get("", response={200: describe_record(PackageList), 404: _PROBLEM})
def list_packages(
    request: HttpRequest, name: Name = "", search: Name = "", mine: bool = False, after: Name = ""
) -> PackageList:
    """List 200 packages that you may see, the latest first; with `name` the versions of that name."""
    user = find_user(request)
    found = list_own_packages(user) if mine else list_visible_packages(user)
    found = search_packages(user, found, split_search(search))
    if name:
        found = found.filter(name=name)
    if after:
        last = find_package(user, after)
        same = Q(stored_unix_s=last.stored_unix_s, pk__gt=last.pk)
        found = found.filter(Q(stored_unix_s__lt=last.stored_unix_s) | same)
    ordered = found.select_related("owner").order_by("-stored_unix_s", "pk")
    page = list(ordered[: _MOST_ROWS + 1])
    more, page = len(page) > _MOST_ROWS, page[:_MOST_ROWS]
    return PackageList(tuple(_describe(user, page)), page[-1].pk if more else None)


@router.get("/{sha256}", response={200: describe_record(PackageDetail), 404: _PROBLEM, 429: _PROBLEM})
def show_package(request: HttpRequest, sha256: Annotated[Sha256, Path()]) -> PackageDetail:
    """Tell what is in a package, and which experiments that you may see used it."""
    user = find_user(request)
    (line,) = _describe(user, [find_package(user, sha256)])
    contents, problem = _NOTHING, ""
    try:
        with taking_turn(user):
            contents = read_contents(sha256)
    except (AwayError, BusyError, GoneError):
        raise
    except InputError as error:
        problem = error.told(speak_command_line).message
    return PackageDetail(
        **asdict(line),
        files=tuple(PackageFileLine(file.name, file.size_bytes, file.executable) for file in contents.files),
        file_count=contents.count,
        unpacked_bytes=contents.size_bytes,
        scripts=tuple(PackageScript(item.name, item.text, item.cut) for item in contents.scripts),
        experiments=tuple(
            PackageUseLine(use.experiment, use.title, use.owner, use.state, use.submitted_unix_s, use.name)
            for use in list_uses(user, sha256)
        ),
        problem=problem,
    )


def _describe(user: User, files: list[StoredFile]) -> list[PackageLine]:
    return [
        PackageLine(
            sha256=item.sha256,
            name=item.name,
            size_bytes=item.size_bytes,
            stored_unix_s=item.stored_unix_s,
            owner=item.owner,
            users=item.users,
            uses=item.uses,
            used_unix_s=item.used_unix_s,
            quarantined=item.barred,
        )
        for item in describe_packages(user, files)
    ]
