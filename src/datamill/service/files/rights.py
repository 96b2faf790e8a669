"""Who may read which file: users what they brought or may see, a worker what its open attempt needs.

A digest is no secret (policies and the account of events name some), so that knowing one gives no right: who
names a file in an experiment or a report must have brought it, or be allowed to read it anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Sum

from datamill.protocol.api.accounts import Scope
from datamill.service.accounts import find_key, is_admin, list_visible_experiments
from datamill.service.coordinator.messages.orders import list_lease_files
from datamill.service.files.store import find_file, name_holder
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import (
    Artifact,
    ExperimentFile,
    FileHolder,
    FleetWorker,
    Publication,
    RegisteredFactor,
    StoredFile,
)
from datamill.service.states import WorkerState


@dataclass(frozen=True)
class FileUser:
    """Whoever asks for a file: a user, or a worker."""

    label: str
    user: User | None = None
    worker_id: str = ""
    scopes: frozenset[str] = frozenset()

    @property
    def is_worker(self) -> bool:
        """Tell whether it is a worker."""
        return bool(self.worker_id)

    def may(self, scope: Scope) -> bool:
        """Tell whether the key is for that; workers have keys for files alone."""
        return self.is_worker or scope in self.scopes

    @property
    def owner(self) -> User | None:
        """Return to whom files that are brought belong; those of workers belong to experiments."""
        return self.user


def find_file_user(key: str) -> FileUser | None:
    """Return whose key this is, None when it is nobody's or void."""
    found = find_key(key)
    if found is not None:
        scopes = frozenset(found.scopes.split())
        return FileUser(name_holder(found.user), user=found.user, scopes=scopes)
    worker = find_worker_of_key(key)
    return FileUser(worker.worker_id, worker_id=worker.worker_id) if worker is not None else None


def find_worker_of_key(key: str) -> FleetWorker | None:
    """Return the worker whose key this is, None when it is nobody's or void."""
    return (
        FleetWorker.objects.filter(api_key_sha256=hash_secret(key)).exclude(state=WorkerState.REMOVED).first()
    )


def may_read(asking: FileUser, sha256: str) -> bool:
    """Tell whether a user or worker may read a file of the store.

    Args:
        asking: who asks.
        sha256: digest of the file, checked to be one.
    """
    if asking.user is not None:
        return may_user_read(asking.user, sha256)
    return sha256 in list_lease_files(asking.worker_id)


def needs_not_bring(asking: FileUser, sha256: str) -> bool:
    """Tell whether a file that is in the store counts as brought by this user or worker.

    A worker that named a file which it only read would make an artifact of it.
    """
    if asking.user is not None:
        return may_user_read(asking.user, sha256)
    return FileHolder.objects.filter(file_id=sha256, holder=asking.worker_id).exists()


def may_user_read(user: User, sha256: str) -> bool:
    """Tell whether a user brought a file, may see an experiment that it belongs to, or it is registered."""
    if is_admin(user) or StoredFile.objects.filter(sha256=sha256, owner=user).exists():
        return True
    if FileHolder.objects.filter(file_id=sha256, holder=name_holder(user)).exists():
        return True
    visible = list_visible_experiments(user)
    return (
        Artifact.objects.filter(file_id=sha256, attempt__trial__experiment__in=visible).exists()
        or ExperimentFile.objects.filter(sha256=sha256, experiment__in=visible).exists()
        or RegisteredFactor.objects.filter(pk=sha256).exists()
    )


def list_unusable_files(user: User, digests: Iterable[str]) -> list[str]:
    """Return those of the digests whose files a user has to bring before an experiment may name them.

    Raises:
        AwayError: the storage of files does not answer.
    """
    return [
        sha256
        for sha256 in dict.fromkeys(digests)
        if not (may_user_read(user, sha256) and find_file(sha256) is not None)
    ]


def count_unclaimed(asking: FileUser) -> tuple[int, int]:
    """Return how many files somebody brought that belong to nothing yet, and their bytes.

    Of a worker these are the files of no report that was accepted; of a user all files count, and archives of
    what the user published.
    """
    held = FileHolder.objects.filter(holder=asking.label)
    if asking.is_worker:
        claimed = Artifact.objects.filter(attempt__worker_id=asking.worker_id)
        held = held.exclude(file_id__in=claimed.values("file_id"))
    found = held.aggregate(files=Count("pk"), total=Sum("file__size_bytes", default=0))
    files, total = int(found["files"]), int(found["total"])
    if asking.user is not None:
        published = Publication.objects.filter(publisher=asking.user, withdrawn_unix_s=None)
        archives = published.aggregate(files=Count("pk"), total=Sum("size_bytes", default=0))
        files, total = files + archives["files"], total + archives["total"]
    return files, total
