"""How long files are kept: uploads that no experiment has, and files that attempts left.

Records, designs and tables are kept for ever, and so is all that belongs to a public experiment.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from datamill.experiment.errors import InputError
from datamill.protocol.api.members.administration import Removable, RetentionState
from datamill.service.accounts import AccountEventKind, record_account_event
from datamill.service.files.store import AwayError, occupying_files, remove_files
from datamill.service.models import (
    Artifact,
    ExperimentFile,
    Publication,
    RegisteredFactor,
    Retention,
    StoredFile,
)
from datamill.service.states import ENDED_EXPERIMENTS

log = logging.getLogger("datamill.serve")

_DAY_S = 86_400.0
#: Files that one round removes.
_MOST_AT_ONCE = 500
_LARGEST_DAYS = 36_500
#: What would go is told for so many days where nothing is set.
SHOWN_DAYS = 90


def find_retention() -> Retention:
    """Return how long files are kept."""
    return Retention.objects.filter(pk=1).first() or Retention(pk=1)


def describe_retention(now_s: float) -> RetentionState:
    """Return how long files are kept, and what is older: than `SHOWN_DAYS` where nothing is set."""
    found = find_retention()
    uploads, artifacts = found.uploads_days, found.artifacts_days
    return RetentionState(
        uploads,
        artifacts,
        count_removable(list_unused_uploads(now_s, uploads or SHOWN_DAYS)),
        count_removable(list_old_artifacts(now_s, artifacts or SHOWN_DAYS)),
    )


def set_retention(admin: User, uploads_days: int | None, artifacts_days: int | None) -> None:
    """Say how many days files are kept from now on; None: for ever.

    Raises:
        InputError: for no whole number of days.
    """
    for days in (uploads_days, artifacts_days):
        if days is not None and not 1 <= days <= _LARGEST_DAYS:
            raise InputError(f"files cannot be kept for {days} days", remedy="Give 1 or more, or nothing.")
    values = {"uploads_days": uploads_days, "artifacts_days": artifacts_days}
    Retention.objects.update_or_create(pk=1, defaults=values)
    told = ", ".join(f"{name} {'for ever' if days is None else days}" for name, days in values.items())
    record_account_event(AccountEventKind.RETENTION_SET, admin, told)


def count_removable(found: QuerySet[StoredFile]) -> Removable:
    """Return how much is in files."""
    return Removable(found.count(), found.aggregate(all=Sum("size_bytes", default=0))["all"])


def list_unused_uploads(now_s: float, days: int) -> QuerySet[StoredFile]:
    """Return packages, loads and factors that were brought so long ago and that no experiment has."""
    return StoredFile.objects.filter(
        ~Exists(ExperimentFile.objects.filter(sha256=OuterRef("pk"))),
        ~Exists(RegisteredFactor.objects.filter(pk=OuterRef("pk"))),
        ~Exists(Artifact.objects.filter(file=OuterRef("pk"))),
        kind__in=("package", "load", "factor"),
        stored_unix_s__lt=now_s - days * _DAY_S,
        removed_unix_s=None,
    )


def list_old_artifacts(now_s: float, days: int) -> QuerySet[StoredFile]:
    """Return files that attempts left, all of experiments that are private and ended so long ago."""
    kept = Artifact.objects.filter(file=OuterRef("pk")).exclude(
        Q(attempt__trial__experiment__state__in=ENDED_EXPERIMENTS)
        & Q(attempt__trial__experiment__public=False)
        & Q(attempt__trial__experiment__ended_unix_s__lt=now_s - days * _DAY_S)
    )
    return StoredFile.objects.filter(
        Exists(Artifact.objects.filter(file=OuterRef("pk"))),
        ~Exists(kept),
        ~Exists(ExperimentFile.objects.filter(sha256=OuterRef("pk"))),
        kind="artifact",
        removed_unix_s=None,
    )


@transaction.atomic
def retire_old_files(now_s: float) -> list[str]:
    """Note that some files are kept no longer; return their digests. To be called by the writer."""
    retention = find_retention()
    chosen: list[StoredFile] = []
    if retention.uploads_days is not None:
        chosen += list_unused_uploads(now_s, retention.uploads_days)[:_MOST_AT_ONCE]
    if retention.artifacts_days is not None:
        chosen += list_old_artifacts(now_s, retention.artifacts_days)[:_MOST_AT_ONCE]
    for file in chosen:
        # The row stays: records name the file, and pages say that it is gone.
        StoredFile.objects.filter(pk=file.pk).update(removed_unix_s=now_s)
        file.fileholder_set.all().delete()
    return [file.pk for file in chosen]


def remove_retired(digests: Collection[str]) -> list[str]:
    """Remove files that are kept no longer; return the digests of those that could not be removed.

    The storage may be slow: the writer must not wait for it. What somebody brought again meanwhile stays, and
    who brings one while it is being removed waits, and stores it anew. A crash before this leaves files that
    nothing counts.
    """
    with occupying_files(digests):
        published = Publication.objects.filter(sha256=OuterRef("pk"), withdrawn_unix_s=None)
        retired = StoredFile.objects.filter(~Exists(published), pk__in=digests).exclude(removed_unix_s=None)
        names = list(retired.values_list("pk", flat=True))
        try:
            remove_files(names)
        except (AwayError, OSError) as problem:
            told = problem.message if isinstance(problem, AwayError) else problem
            log.warning(
                "%s files that are kept no longer stay in the storage until it can be used: %s: %s",
                len(names),
                told,
                " ".join(names),
            )
            return names
    return []
