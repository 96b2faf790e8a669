"""Machines that joined, the tokens that let them in, and keys for the API."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from datamill.protocol.api.accounts import SCOPES
from datamill.service.states import WorkerState


class ApiKey(models.Model):
    """A user's credential for the API: only its digest is kept."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=64)
    made_unix_s = models.FloatField()
    revoked_unix_s = models.FloatField(null=True)
    scopes = models.CharField(max_length=64, default=" ".join(SCOPES))  # what it may be used for, a word each


class FleetWorker(models.Model):
    """A machine that joined.

    A trial changes its row four times: no index is on what changes, and what is large comes last.
    """

    worker_id = models.CharField(max_length=16, primary_key=True)
    name = models.CharField(max_length=64)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False)
    state = models.CharField(max_length=8, choices=WorkerState.choices, default=WorkerState.AWAY)
    state_reason = models.TextField(default="")
    public_key = models.CharField(max_length=64)
    api_key_sha256 = models.CharField(max_length=64)
    boot_id = models.CharField(max_length=64, default="")
    boot_clock_ns = models.BigIntegerField(null=True)  # its clock when this boot was first heard of
    earlier_boots = models.JSONField(null=True)  # the latest before it: none of them ever comes back
    clock_offset_s = models.FloatField(default=0.0)  # its clock less the coordinator's, when last heard of
    joined_unix_s = models.FloatField()
    heard_unix_s = models.FloatField()
    orders_sequence = models.BigIntegerField(default=0)
    orders_sent_sequence = models.BigIntegerField(default=0)
    ended_attempts = models.IntegerField(
        default=0
    )  # since it was resumed; old ones fade: coordinator/health.py
    failed_attempts = models.IntegerField(default=0)  # of these, for reasons of the host
    rests_until_unix_s = models.FloatField(default=0.0)  # gets no lease before: it had no room, or no file
    sessions = models.JSONField(null=True)  # of its process, the latest last: none of them begins twice
    left_unix_s = models.FloatField(null=True)  # when the latest of them said goodbye, or when it joined
    hardware_key = models.CharField(max_length=64)  # equal for machines that differ in `machine` alone
    receipts = models.JSONField(default=list)  # attempts of the latest reports, for the next orders
    hardware = models.JSONField()  # level by hardware dimension; see coordinator/hardware.py
    credential_unix_s = models.FloatField(null=True)  # when its latest credential for the broker was made
    credential_void_unix_s = models.FloatField(null=True)  # those that were made before are void
    policy = models.BinaryField()  # Policy as JSON
    inventory = models.BinaryField()  # Inventory as JSON, the latest that it reported

    class Meta:
        """States are those of the lifecycle; names and credentials are one worker's."""

        db_table = "datamill_worker"

        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=WorkerState.values), name="worker_state"),
            models.CheckConstraint(
                condition=Q(orders_sent_sequence__lte=models.F("orders_sequence")), name="worker_orders"
            ),
            models.UniqueConstraint(fields=["name"], name="one_worker_a_name"),
            models.UniqueConstraint(fields=["public_key"], name="one_worker_a_key"),
            models.UniqueConstraint(fields=["api_key_sha256"], name="one_worker_a_credential"),
        ]
        indexes: ClassVar = [models.Index(fields=["hardware_key"], name="worker_by_hardware")]


class EnrolmentToken(models.Model):
    """Lets one machine join, once: only its digest is kept."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    made_unix_s = models.FloatField()
    expires_unix_s = models.FloatField()
    used_unix_s = models.FloatField(null=True)
    worker = models.OneToOneField(FleetWorker, null=True, on_delete=models.PROTECT)

    class Meta:
        """A used token names whom it let in."""

        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(used_unix_s__isnull=True, worker__isnull=True)
                | Q(used_unix_s__isnull=False, worker__isnull=False),
                name="token_used_by_someone",
            )
        ]
