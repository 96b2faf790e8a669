"""Experiments that were submitted: their looks, who stands by, how fast machines are, packages that fail."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from datamill.service.models.machines import FleetWorker
from datamill.service.states import ExperimentState, Standing


class FleetExperiment(models.Model):
    """An experiment that was submitted."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    name = models.CharField(max_length=128)
    public = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=ExperimentState.choices)
    state_reason = models.TextField(default="")
    text = models.TextField()  # the experiment file, as given
    head = models.BinaryField()  # BundleHead as JSON: packages, loads and factors by SHA-256
    design = models.BinaryField()  # the fleet's design without its trials, as JSON
    design_sha256 = models.CharField(
        max_length=64, null=True
    )  # of design.json; none before all trials are there
    reboot = models.CharField(max_length=8)  # trial, block, never
    most_attempts = models.IntegerField(default=4)
    priority = models.FloatField(null=True)  # 0.1 to 10 within its owner's share; none: the usual one
    hold = models.BooleanField(default=False)  # whether the design waits for its owner after the debug trials
    #: Whether trials are left that may go, or, once it is cancelled, that are to be cancelled.
    releasing = models.BooleanField(default=False)
    #: With `until`: trials behind this position wait for a look at those before. None: all may go.
    open_position = models.BigIntegerField(null=True)
    submitted_unix_s = models.FloatField()
    ended_unix_s = models.FloatField(null=True)
    follow = models.BinaryField(null=True)  # of a screening that came first: MainPart as JSON
    follow_reason = models.TextField(null=True)  # which experiment follows, or why none does
    screened = models.BinaryField(null=True)  # what the screening before found: ScreenedFirst as JSON

    class Meta:
        """An experiment has ended exactly when it says when."""

        db_table = "datamill_experiment"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=ExperimentState.values), name="experiment_state"),
            models.CheckConstraint(
                condition=Q(state__in=["completed", "cancelled"], ended_unix_s__isnull=False)
                | Q(state__in=["debugging", "held", "running"], ended_unix_s__isnull=True),
                name="experiment_ended",
            ),
        ]


class Look(models.Model):
    """A batch of an experiment with `until`, and what was decided when its trials had ended.

    There is a row for each planned batch from the beginning; the database lets nobody change a decision.
    """

    experiment = models.ForeignKey(FleetExperiment, on_delete=models.CASCADE, db_index=False)
    number = models.IntegerField()  # of the batch, from 1
    last_position = models.BigIntegerField()  # of its trials
    stops = models.BooleanField(null=True)  # whether the experiment ends here
    decision = models.BinaryField(null=True)  # Decision as JSON
    decided_unix_s = models.FloatField(null=True)

    class Meta:
        """A batch is looked at once."""

        db_table = "datamill_look"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "number"], name="one_look_a_number"),
            models.CheckConstraint(
                condition=Q(decision__isnull=True, stops__isnull=True, decided_unix_s__isnull=True)
                | Q(decision__isnull=False, stops__isnull=False, decided_unix_s__isnull=False),
                name="look_decided_when",
            ),
        ]


class Spare(models.Model):
    """A worker that stands by for an experiment: gets trials of another that is lost."""

    experiment = models.ForeignKey(FleetExperiment, on_delete=models.CASCADE)
    worker = models.ForeignKey(FleetWorker, on_delete=models.PROTECT)

    class Meta:
        """A worker stands by once."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "worker"], name="one_spare_place")
        ]


class Pace(models.Model):
    """How fast a worker was in an experiment: the trials of the design that it made and that count.

    Written with the attempts that count, by the ledger.
    """

    experiment = models.ForeignKey(FleetExperiment, on_delete=models.CASCADE, db_index=False)
    worker = models.ForeignKey(FleetWorker, on_delete=models.PROTECT)
    trials = models.IntegerField()
    first_leased_unix_s = models.FloatField()
    last_ended_unix_s = models.FloatField()

    class Meta:
        """One row a worker."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "worker"], name="one_pace_a_worker")
        ]


class PackageStanding(models.Model):
    """What is known of a package in an experiment since its first trial ended.

    Written with the attempts that count, by the ledger; it is final but while the package is failing.
    """

    experiment = models.ForeignKey(FleetExperiment, on_delete=models.CASCADE, db_index=False)
    package_sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=Standing.choices)
    failures = models.IntegerField(default=0)  # alike
    reason_sha256 = models.CharField(max_length=64, default="")  # of what they were alike in
    blamed = models.TextField(default="{}")  # the only level so far, by factor, as JSON
    package = models.TextField(default="")  # the name of one that was stopped
    reason = models.TextField(default="")  # why, in sentences
    stopped_unix_s = models.FloatField(null=True)
    cancelling = models.BooleanField(default=False)  # whether trials of it are left to cancel

    class Meta:
        """One row for each; one that was stopped says when."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "package_sha256"], name="one_standing_a_package"),
            models.CheckConstraint(condition=Q(state__in=Standing.values), name="standing_state"),
            models.CheckConstraint(
                condition=Q(state="stopped", stopped_unix_s__isnull=False)
                | (~Q(state="stopped") & Q(stopped_unix_s__isnull=True, cancelling=False)),
                name="stopped_when",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["experiment"], condition=Q(cancelling=True), name="stop_under_way")
        ]
