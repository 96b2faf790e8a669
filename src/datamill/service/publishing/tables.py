"""What was published, and which experiments run another one again: tables beside `models`."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class Publication(models.Model):
    """A result with its archive, under a permanent address; the database lets nobody change or remove it.

    Only its withdrawal is added, once.
    """

    key = models.CharField(max_length=12, primary_key=True)  # of its address
    experiment = models.ForeignKey("datamill.FleetExperiment", on_delete=models.PROTECT)
    publisher = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    published_unix_s = models.FloatField()
    sha256 = models.CharField(max_length=64)  # of the archive
    size_bytes = models.BigIntegerField()
    description = models.BinaryField()  # Description as JSON
    words = models.TextField()  # title and authors, for searches
    statement = models.BinaryField()  # PublishedStatement as JSON
    withdrawn_unix_s = models.FloatField(null=True)
    withdrawn_reason = models.TextField(default="")

    class Meta:
        """A withdrawal says why."""

        db_table = "datamill_publication"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(withdrawn_unix_s__isnull=True, withdrawn_reason="")
                | (Q(withdrawn_unix_s__isnull=False) & ~Q(withdrawn_reason="")),
                name="withdrawn_why",
            )
        ]


class Rerun(models.Model):
    """An experiment that runs another one again; the margin was chosen before it began.

    The verdict is written once, when both have ended.
    """

    experiment = models.OneToOneField(
        "datamill.FleetExperiment", primary_key=True, on_delete=models.CASCADE, related_name="rerun"
    )
    original = models.ForeignKey("datamill.FleetExperiment", on_delete=models.PROTECT, related_name="reruns")
    margin = models.FloatField()
    made_unix_s = models.FloatField()
    verdict = models.BinaryField(null=True)  # ReproductionVerdict as JSON
    judged_unix_s = models.FloatField(null=True)

    class Meta:
        """A verdict says when; nothing runs itself again."""

        db_table = "datamill_rerun"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(margin__gt=0, margin__lt=1), name="rerun_margin"),
            models.CheckConstraint(
                condition=Q(verdict__isnull=True, judged_unix_s__isnull=True)
                | Q(verdict__isnull=False, judged_unix_s__isnull=False),
                name="rerun_judged_when",
            ),
        ]
