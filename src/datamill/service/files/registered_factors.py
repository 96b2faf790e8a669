"""Factors that users registered, and what administrators forbid: tables beside `models`."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class RegisteredFactor(models.Model):
    """A factor that a user brought for everybody; several archives of one name are its versions."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    name = models.CharField(max_length=64, db_index=True)
    summary = models.TextField()
    scope = models.CharField(max_length=16)  # host or environment
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    registered_unix_s = models.FloatField()


class FactorRule(models.Model):
    """A factor that an administrator forbids on the whole fleet; without a row it is allowed."""

    name = models.CharField(max_length=64, primary_key=True)
    reason = models.TextField()
    since_unix_s = models.FloatField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
