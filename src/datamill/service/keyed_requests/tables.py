"""Requests that carried a key of their sender's, and what they were answered: a table beside `models`."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class KeyedRequest(models.Model):
    """A request that is under way, or was done and answered; the database lets a user have a key once.

    `token` is that of the attempt that works on it: its answer is entered where it still is.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64)  # method, path and body
    token = models.CharField(max_length=16)
    made_unix_s = models.FloatField(db_index=True)
    status = models.SmallIntegerField(null=True)
    answer = models.BinaryField(null=True)

    class Meta:
        """One row a key; an answer has its status."""

        db_table = "datamill_keyedrequest"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "key"], name="one_request_a_key"),
            models.CheckConstraint(
                condition=Q(status__isnull=True, answer__isnull=True)
                | Q(status__isnull=False, answer__isnull=False),
                name="request_answered_whole",
            ),
        ]
