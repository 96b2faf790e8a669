"""Who has which share of the machines, and what machine time each had: tables beside `models`.

Times over share are in seconds for a share of 1: see `coordinator/sharing/fair_queue.py`.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class UserShare(models.Model):
    """The share that an administrator gave a user; who has no row has the usual one."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE)
    share = models.FloatField()

    class Meta:
        """Nobody is left without a share: who waits is served some time."""

        db_table = "datamill_usershare"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(share__gte=0.01, share__lte=100.0), name="share_within")
        ]


class UserTime(models.Model):
    """The time for which a worker was held by attempts of a user, with the user's place in its queue.

    Written with the attempts that end, by the ledger. `since_virtual_s` and `since_held_s` are the worker's
    clock and `held_s` when the user last began to wait after a pause, or the share changed: since then the
    user was promised share * (clock - since_virtual_s), and received held_s - since_held_s.
    """

    worker = models.ForeignKey("datamill.FleetWorker", on_delete=models.PROTECT, db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    attempts = models.IntegerField()
    held_s = models.FloatField()
    virtual_s = models.FloatField()
    clock_s = models.FloatField()  # of the user's experiments there
    share = models.FloatField()  # at the latest turn
    since_virtual_s = models.FloatField()
    since_held_s = models.FloatField()

    class Meta:
        """One account each."""

        db_table = "datamill_usertime"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["worker", "user"], name="one_time_a_user"),
            models.CheckConstraint(
                condition=Q(held_s__gte=0.0, share__gt=0.0, attempts__gte=1, since_held_s__lte=F("held_s")),
                name="user_time_sound",
            ),
        ]


class ExperimentTime(models.Model):
    """The time for which a worker was held by attempts of an experiment, with its place in the queue."""

    worker = models.ForeignKey("datamill.FleetWorker", on_delete=models.PROTECT, db_index=False)
    experiment = models.ForeignKey("datamill.FleetExperiment", on_delete=models.CASCADE)
    attempts = models.IntegerField()
    held_s = models.FloatField()
    virtual_s = models.FloatField()
    start_s = models.FloatField()  # the start tag of the latest turn
    priority = models.FloatField()  # at the latest turn

    class Meta:
        """One account each."""

        db_table = "datamill_experimenttime"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["worker", "experiment"], name="one_time_an_experiment"),
            models.CheckConstraint(
                condition=Q(held_s__gte=0.0, priority__gt=0.0, attempts__gte=1), name="time_sound"
            ),
        ]
