"""Where users want to hear of what happened, and what is still to be sent: tables beside `models`."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q


class NoticeTarget(models.Model):
    """An address of a user for notices: a webhook, a mail address, or a feed that others ask for.

    `secret` is what webhooks are signed with, the digest of a mail address's code until it is confirmed, or
    the digest of a feed's key.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    kind = models.CharField(max_length=8)  # webhook, mail or feed
    address = models.CharField(max_length=500, default="")
    secret = models.CharField(max_length=64, default="", db_index=True)
    subjects = models.CharField(max_length=100)  # which ones, a word each
    confirmed = models.BooleanField(default=True)  # a mail address is not until its owner typed the code
    made_unix_s = models.FloatField()
    failures = models.IntegerField(default=0)  # in a row
    paused_unix_s = models.FloatField(
        null=True
    )  # when it was given up; nothing is sent until its user says so
    sent_unix_s = models.FloatField(null=True)  # when one arrived last
    trouble = models.TextField(default="")  # why the latest did not arrive

    class Meta:
        """One address a user."""

        db_table = "datamill_noticetarget"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "kind", "address"], name="one_target_an_address"),
            models.CheckConstraint(condition=Q(kind__in=["webhook", "mail", "feed"]), name="target_kind"),
        ]


class Notice(models.Model):
    """A notice that has not arrived yet."""

    target = models.ForeignKey(NoticeTarget, on_delete=models.CASCADE, db_index=False)
    event_id = models.BigIntegerField()
    body = models.BinaryField()  # NoticeBody as JSON
    attempts = models.IntegerField(default=0)
    next_unix_s = models.FloatField(db_index=True)

    class Meta:
        """An event is told once to each address."""

        db_table = "datamill_notice"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["target", "event_id"], name="one_notice_an_event")
        ]


class NoticeCursor(models.Model):
    """Up to which event notices were made."""

    event_id = models.BigIntegerField()

    class Meta:
        """One row."""

        db_table = "datamill_noticecursor"
