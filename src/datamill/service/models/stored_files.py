"""Files in the store, who brought them, and packages that must not be leased."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class StoredFile(models.Model):
    """A file in the store, by its content: what users brought with experiments, what attempts produced."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size_bytes = models.BigIntegerField()
    kind = models.CharField(max_length=16)  # package, load, factor, artifact, build
    name = models.CharField(max_length=255, default="")  # as it was first brought; packages are chosen by it
    stored_unix_s = models.FloatField()
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT)
    removed_unix_s = models.FloatField(null=True)  # when it was kept no longer: it is named, and not there


class FileHolder(models.Model):
    """Whoever brought a file of the store, all of it: its digest alone is no proof of knowing its content."""

    file = models.ForeignKey(StoredFile, on_delete=models.CASCADE, db_index=False)
    holder = models.CharField(max_length=24)  # u and the number of a user, or the identity of a worker

    class Meta:
        """One row for each, found by either."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["file", "holder"], name="one_holding_a_file")
        ]
        indexes: ClassVar = [models.Index(fields=["holder", "file"], name="file_of_holder")]


class Quarantine(models.Model):
    """A package that must not be leased: too many workers went down under it."""

    sha256 = models.CharField(max_length=64)
    reason = models.TextField()
    since_unix_s = models.FloatField()
    lifted_unix_s = models.FloatField(null=True)

    class Meta:
        """A package is in quarantine once at a time."""

        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sha256"], condition=Q(lifted_unix_s__isnull=True), name="one_quarantine_a_package"
            )
        ]
