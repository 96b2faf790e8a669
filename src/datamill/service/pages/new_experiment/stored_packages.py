"""Packages that pages offer for an experiment: brought through the browser, or stored before."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Limits
from datamill.experiment.file.fields import NAME
from datamill.experiment.quantities import format_size
from datamill.packing.packages import PackageFacts
from datamill.packing.user_factors import UserFactor
from datamill.protocol.api.submissions import FileKind, SubmittedFile
from datamill.service.accounts import AccountEventKind, record_account_event
from datamill.service.administration.quotas import find_quota
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.files.disk import is_sha256
from datamill.service.files.rights import FileUser, count_unclaimed, list_unusable_files
from datamill.service.files.store import (
    AwayError,
    clean_name,
    find_file,
    keep_file,
    name_holder,
    record_stored_file,
)
from datamill.service.models import StoredFile
from datamill.service.pages.labels import speak_form
from datamill.service.submissions.planned_apart import (
    INSPECTION,
    inspect_archive,
    inspect_unknown_archive,
)

#: Most packages that are offered for choice, the latest ones.
_MOST_OFFERED = 200
_ENDINGS = re.compile(r"\.(tar\.gz|tgz|tar)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChosenPackage:
    """A stored file under the name that it has in an experiment."""

    name: str
    sha256: str

    @property
    def text(self) -> str:
        """The choice as a form carries it."""
        return f"{self.name}@{self.sha256}"


def parse_chosen(text: str) -> ChosenPackage | None:
    """Return the choice that a form carries, None when it is none."""
    name, _, sha256 = text.partition("@")
    fine = NAME.fullmatch(name) and is_sha256(sha256)
    return ChosenPackage(name, sha256) if fine else None


def list_stored(user: User, kind: FileKind = "package") -> list[StoredFile]:
    """Return what a user brought, the latest first."""
    mine = Q(owner=user) | Q(fileholder__holder=name_holder(user))
    found = (
        StoredFile.objects.filter(mine, kind=kind, removed_unix_s=None).distinct().order_by("-stored_unix_s")
    )
    return list(found[:_MOST_OFFERED])


def store_upload(user: User, upload: UploadedFile[Any]) -> StoredFile:
    """Check a package or factor that came through the browser, and keep it.

    Raises:
        InputError: when it is neither, with what it lacks.
    """
    given = str(upload.name or "package")
    if (upload.size or 0) > settings.LARGEST_FILE_BYTES:
        raise InputError(f"it is larger than {format_size(settings.LARGEST_FILE_BYTES)}", where=given)
    folder = Path(settings.DATA_FOLDER) / "files"
    folder.mkdir(parents=True, exist_ok=True)
    _check_room(user, upload.size or 0, folder, given)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=folder, prefix="upload-", delete=False) as part:
        for chunk in upload.chunks():
            digest.update(chunk)
            part.write(chunk)
    path = Path(part.name)
    try:
        kind, name = _inspect_upload(path, given)
        size = path.stat().st_size
        sha256 = digest.hexdigest()
        stored = keep_file(path, sha256, lambda: record_stored_file(sha256, kind, user, size, name))
    except AwayError as problem:
        # What came is not kept, unlike a piece of what a program sends.
        raise InputError(problem.message, where=given, remedy="Send it again in a minute.") from problem
    finally:
        path.unlink(missing_ok=True)
    record_account_event(
        AccountEventKind.PACKAGE_UPLOADED,
        user,
        f'{kind} "{name}", {format_size(stored.size_bytes)}',
        package_sha256=stored.sha256,
    )
    return stored


def _check_room(user: User, size_bytes: int, folder: Path, given: str) -> None:
    """Refuse what a user may not bring in other ways either.

    Raises:
        InputError: when the user has brought as much as is kept, or the disk is full.
    """
    files, held = count_unclaimed(FileUser(name_holder(user), user=user))
    if files >= settings.MOST_USER_FILES or held + size_bytes > find_quota(user).stored_bytes:
        raise InputError(
            f"{files} files of yours are here, {format_size(held)}, and no more are kept",
            where=given,
            remedy="Ask the operator of the coordinator for room.",
        )
    disk = shutil.disk_usage(folder)
    if disk.free - size_bytes < min(settings.RESERVED_BYTES, disk.total // 20):
        raise InputError(
            "the coordinator's disk is full", where=given, remedy="Try again when its owner made room."
        )


def _inspect_upload(path: Path, given: str) -> tuple[FileKind, str]:
    """Return what an archive is, a package or a factor, and its name."""
    name = clean_name(_ENDINGS.sub("", Path(given).name)) or "package"
    try:
        found = call_bounded(INSPECTION, inspect_unknown_archive, name, path)
    except InputError as problem:
        # Where it lies on this machine is of no use to whoever sent it.
        problem = problem.told(speak_form)
        message = problem.message.replace(str(path), given)
        raise InputError(message, where=given, remedy=problem.remedy.replace(str(path), given)) from None
    return ("factor", found.name) if isinstance(found, UserFactor) else ("package", name)


@lru_cache(maxsize=4096)
def _inspect_stored(sha256: str) -> PackageFacts:
    """Return what a stored package has, for ever."""
    kept = find_file(sha256)
    if kept is None:
        raise InputError("the file is not in the store any more", remedy="Upload it, or choose another one.")
    with kept.at_hand() as path:
        facts = call_bounded(INSPECTION, inspect_archive, "package", path, Limits(), "package")
    assert isinstance(facts, PackageFacts)
    return facts


def describe_files(user: User, chosen: Sequence[tuple[FileKind, ChosenPackage]]) -> tuple[SubmittedFile, ...]:
    """Return stored files as a submission of a user names them.

    Raises:
        InputError: when one is not in the store for this user, or is no package.
    """
    unusable = list_unusable_files(user, [item.sha256 for _, item in chosen])
    sizes = dict(
        StoredFile.objects.filter(pk__in=[item.sha256 for _, item in chosen]).values_list(
            "sha256", "size_bytes"
        )
    )
    described = []
    for kind, item in chosen:
        if item.sha256 not in sizes or item.sha256 in unusable:
            raise InputError(
                f'{kind} "{item.name}" is not stored here', remedy="Upload it, or choose another one."
            )
        facts = _inspect_stored(item.sha256) if kind != "factor" else None
        described.append(
            SubmittedFile(
                name=item.name,
                kind=kind,
                sha256=item.sha256,
                bytes=sizes[item.sha256],
                files=facts.files if facts else 0,
                has_setup=facts is not None and facts.has_setup,
                has_collect=facts is None or facts.has_collect,
                has_profile=facts is not None and facts.has_profile,
            )
        )
    return tuple(described)
