"""The account of what happened."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Event(models.Model):
    """What happened, for ever: who, what package, where, when. The database refuses changes.

    It refers to no other table, so that events stay when their experiment or worker is deleted.
    """

    unix_s = models.FloatField()
    kind = models.CharField(max_length=32)
    user = models.CharField(max_length=150, default="")
    worker_id = models.CharField(max_length=16, default="")
    experiment_id = models.BigIntegerField(null=True)
    attempt = models.CharField(max_length=64, default="")
    package_sha256 = models.CharField(max_length=64, default="")
    detail = models.TextField(default="")  # one sentence

    class Meta:
        """Looked up by experiment and by worker."""

        indexes: ClassVar = [
            models.Index(fields=["experiment_id", "id"], name="event_of_experiment"),
            models.Index(fields=["worker_id", "id"], name="event_of_worker"),
        ]
