"""Trials of experiments, how many are in which state, attempts at them, and what these brought."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from datamill.service.models.experiments import FleetExperiment
from datamill.service.models.machines import FleetWorker
from datamill.service.models.stored_files import StoredFile
from datamill.service.states import AttemptState, TrialPurpose, TrialState


class Trial(models.Model):
    """One planned execution of a package at a design point on one worker."""

    # The constraints' indexes serve these keys as well; a million trials need no second ones.
    experiment = models.ForeignKey(FleetExperiment, on_delete=models.PROTECT, db_index=False)
    trial_id = models.CharField(max_length=24)
    purpose = models.CharField(max_length=8, choices=TrialPurpose.choices, default=TrialPurpose.DESIGN)
    worker = models.ForeignKey(FleetWorker, on_delete=models.PROTECT, db_index=False)
    position = models.BigIntegerField()  # order among all trials of the experiment
    block = models.CharField(max_length=64, default="")
    package_sha256 = models.CharField(max_length=64)
    reboot = models.BooleanField(default=False)  # whether its machine is rebooted before it
    state = models.CharField(max_length=9, choices=TrialState.choices)
    attempts = models.IntegerField(default=0)
    # What must be done before: the profile of its build, or the build itself.
    needs = models.ForeignKey("self", null=True, on_delete=models.PROTECT, db_index=False)
    plan = models.BinaryField()  # PlannedTrial as JSON

    class Meta:
        """The next trial of a worker is found by one look at an index."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "trial_id"], name="one_trial_an_id"),
            models.CheckConstraint(condition=Q(state__in=TrialState.values), name="trial_state"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["worker", "experiment", "position"],
                condition=Q(state="planned"),
                name="trial_next_of_worker",
            ),
            models.Index(fields=["experiment", "state", "id"], name="trial_by_state"),
            models.Index(fields=["needs"], condition=Q(needs__isnull=False), name="trial_by_build"),
        ]


class TrialCount(models.Model):
    """How many trials of an experiment, for a purpose and on a worker, are in a state.

    Triggers of the migration `counts` keep it with every change of a trial, in the same transaction: a
    viewer reads some rows instead of all trials.
    """

    experiment = models.ForeignKey(FleetExperiment, on_delete=models.CASCADE, db_index=False)
    worker = models.ForeignKey(FleetWorker, on_delete=models.PROTECT)
    purpose = models.CharField(max_length=8, choices=TrialPurpose.choices)
    state = models.CharField(max_length=9, choices=TrialState.choices)
    trials = models.IntegerField()

    class Meta:
        """One count each."""

        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["experiment", "worker", "purpose", "state"], name="one_count_each"
            ),
        ]


class Attempt(models.Model):
    """One attempt at a trial, by one worker."""

    # The constraints' indexes serve these keys as well.
    trial = models.ForeignKey(Trial, on_delete=models.PROTECT, db_index=False)
    number = models.IntegerField()
    key = models.CharField(max_length=64)  # EXPERIMENT.TRIAL.ATTEMPT
    worker = models.ForeignKey(FleetWorker, on_delete=models.PROTECT, db_index=False)
    state = models.CharField(max_length=9, choices=AttemptState.choices)
    reason = models.TextField(default="")
    leased_unix_s = models.FloatField()
    deadline_unix_s = models.FloatField()
    taken_unix_s = models.FloatField(null=True)
    taken_clock_ns = models.BigIntegerField(
        null=True
    )  # the worker's clock then: later reports are of after it
    ended_unix_s = models.FloatField(null=True)
    outcome = models.CharField(max_length=9, default="")  # of its record
    record = models.BinaryField(null=True)  # TrialRecord as JSON, as it arrived
    rebooted = models.BooleanField(default=False)
    # Its place in its worker's queue, and what that was by; none of attempts before there were shares.
    start_s = models.FloatField(null=True)
    inner_start_s = models.FloatField(null=True)
    share = models.FloatField(null=True)
    priority = models.FloatField(null=True)
    turn_unix_s = models.FloatField(null=True)  # when the turn began: with the first trial of a block
    held_s = models.FloatField(null=True)  # from its lease until it no longer held its worker

    class Meta:
        """One running trial per worker; one record that counts per trial; what counts has a record."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["trial", "number"], name="one_attempt_a_number"),
            models.UniqueConstraint(fields=["key"], name="one_attempt_a_key"),
            models.UniqueConstraint(
                fields=["worker"],
                condition=Q(state__in=["leased", "taken"]),
                name="one_open_attempt_a_worker",
            ),
            models.UniqueConstraint(
                fields=["trial"], condition=Q(state__in=["leased", "taken"]), name="one_open_attempt_a_trial"
            ),
            models.UniqueConstraint(
                fields=["trial"], condition=Q(state="counted"), name="one_counted_attempt_a_trial"
            ),
            models.CheckConstraint(condition=Q(state__in=AttemptState.values), name="attempt_state"),
            models.CheckConstraint(
                condition=~Q(state__in=["counted", "late"]) | Q(record__isnull=False),
                name="counted_has_record",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["leased", "taken"], ended_unix_s__isnull=True)
                | (~Q(state__in=["leased", "taken"]) & Q(ended_unix_s__isnull=False)),
                name="attempt_ended",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["deadline_unix_s"],
                condition=Q(state__in=["leased", "taken"]),
                name="attempt_by_deadline",
            ),
            models.Index(fields=["worker", "-id"], name="attempt_of_worker"),
            models.Index(fields=["ended_unix_s"], condition=Q(state="lost"), name="attempt_lost"),
        ]


class Artifact(models.Model):
    """A file that an attempt produced."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE)
    name = models.CharField(max_length=255)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT)

    class Meta:
        """Names are those of files in one folder."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["attempt", "name"], name="one_artifact_a_name")
        ]


class OutputPiece(models.Model):
    """A piece of what a script of a debug trial printed, while it ran."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE)
    number = models.BigIntegerField()
    phase = models.CharField(max_length=16)
    text = models.TextField()

    class Meta:
        """A piece that arrives twice is one."""

        constraints: ClassVar = [
            models.UniqueConstraint(fields=["attempt", "number"], name="one_output_piece_a_number")
        ]
