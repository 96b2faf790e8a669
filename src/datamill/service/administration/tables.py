"""Quotas of users, and how long files are kept: tables beside `models`."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class UserQuota(models.Model):
    """What a user may have here, where it is not what everybody may; none: as everybody."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE)
    stored_bytes = models.BigIntegerField(null=True)  # of files that the user brought
    open_trials = models.BigIntegerField(null=True)  # that have not ended

    class Meta:
        """Nothing is less than nothing."""

        db_table = "datamill_userquota"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=(Q(stored_bytes__isnull=True) | Q(stored_bytes__gte=0))
                & (Q(open_trials__isnull=True) | Q(open_trials__gte=0)),
                name="quota_sound",
            )
        ]


class Retention(models.Model):
    """How many days files are kept; none: for ever, as before anybody decides."""

    uploads_days = models.IntegerField(null=True)  # that no experiment has, since they were brought
    artifacts_days = models.IntegerField(null=True)  # of private experiments, since these ended

    class Meta:
        """One row."""

        db_table = "datamill_retention"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=(Q(uploads_days__isnull=True) | Q(uploads_days__gte=1))
                & (Q(artifacts_days__isnull=True) | Q(artifacts_days__gte=1)),
                name="retention_sound",
            )
        ]
