"""What takes room, by user and by kind, in few queries however much there is."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, Sum

from datamill.protocol.api.members.administration import KindRoom, Room, UserRoom
from datamill.service.administration.quotas import MOST_OPEN_TRIALS
from datamill.service.files.store import name_holder
from datamill.service.models import (
    FileHolder,
    FleetExperiment,
    Publication,
    StoredFile,
    TrialCount,
    UserQuota,
)
from datamill.service.states import ENDED_TRIALS


def measure_room() -> Room:
    """Return what takes room."""
    stored = StoredFile.objects.filter(removed_unix_s=None)
    rows = stored.order_by("kind").values_list("kind").annotate(files=Count("pk"), total=Sum("size_bytes"))
    kinds = [KindRoom(kind, files, total) for kind, files, total in rows]
    standing = Publication.objects.filter(withdrawn_unix_s=None)
    archives = standing.aggregate(files=Count("pk"), total=Sum("size_bytes", default=0))
    if archives["files"]:
        kinds.append(KindRoom("publication", archives["files"], archives["total"]))
    disk = shutil.disk_usage(Path(settings.DATA_FOLDER))
    return Room(
        kinds=tuple(kinds),
        removed=StoredFile.objects.exclude(removed_unix_s=None).count(),
        database="PostgreSQL" if connection.vendor == "postgresql" else "SQLite",
        database_bytes=_measure_database(),
        disk_bytes=disk.total,
        free_bytes=disk.free,
        experiments=FleetExperiment.objects.count(),
        trials=TrialCount.objects.aggregate(all=Sum("trials", default=0))["all"],
    )


def measure_users(users: list[User]) -> list[UserRoom]:
    """Return what users have here."""
    labels = {name_holder(user): user.pk for user in users}
    held = FileHolder.objects.filter(holder__in=labels, file__removed_unix_s=None).order_by()
    rows = held.values_list("holder").annotate(files=Count("pk"), total=Sum("file__size_bytes"))
    files = {labels[holder]: (count, total) for holder, count, total in rows}
    published = Publication.objects.filter(publisher__in=users, withdrawn_unix_s=None).order_by()
    archives = published.values_list("publisher_id").annotate(files=Count("pk"), total=Sum("size_bytes"))
    for publisher_id, count, total in archives:
        brought, size = files.get(publisher_id, (0, 0))
        files[publisher_id] = (brought + count, size + total)
    waiting = TrialCount.objects.filter(experiment__owner__in=users).exclude(state__in=ENDED_TRIALS)
    trials = dict(waiting.order_by().values_list("experiment__owner_id").annotate(all=Sum("trials")))
    owned = FleetExperiment.objects.filter(owner__in=users).order_by()
    experiments = dict(owned.values_list("owner_id").annotate(all=Count("pk")))
    quotas = {quota.user_id: quota for quota in UserQuota.objects.filter(user__in=users)}
    rooms = []
    for user in users:
        quota = quotas.get(user.pk)
        own_bytes = None if quota is None else quota.stored_bytes
        own_trials = None if quota is None else quota.open_trials
        count, size = files.get(user.pk, (0, 0))
        rooms.append(
            UserRoom(
                user=user.username,
                files=count,
                size_bytes=size,
                most_bytes=settings.MOST_USER_BYTES if own_bytes is None else own_bytes,
                own_bytes=own_bytes,
                experiments=experiments.get(user.pk, 0),
                open_trials=trials.get(user.pk, 0) or 0,
                most_trials=MOST_OPEN_TRIALS if own_trials is None else own_trials,
                own_trials=own_trials,
            )
        )
    return rooms


def _measure_database() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])
