"""What the coordinator knows, as tables. The database is the only truth; messages only carry it.

The lifecycles in `docs/lifecycles/` are enforced here: by constraints, and by the triggers of the migration
`guards`. Times are seconds since the Unix epoch.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from datamill.protocol.api.accounts import SCOPES
from datamill.service.administration.tables import Retention as Retention
from datamill.service.administration.tables import UserQuota as UserQuota
from datamill.service.files.experiment_files import ExperimentFile as ExperimentFile
from datamill.service.files.registered_factors import FactorRule as FactorRule
from datamill.service.files.registered_factors import RegisteredFactor as RegisteredFactor
from datamill.service.keyed_requests.tables import KeyedRequest as KeyedRequest
from datamill.service.notices.tables import Notice as Notice
from datamill.service.notices.tables import NoticeCursor as NoticeCursor
from datamill.service.notices.tables import NoticeTarget as NoticeTarget
from datamill.service.publishing.tables import Publication as Publication
from datamill.service.publishing.tables import Rerun as Rerun
from datamill.service.queue.machine_time import ExperimentTime as ExperimentTime
from datamill.service.queue.machine_time import UserShare as UserShare
from datamill.service.queue.machine_time import UserTime as UserTime
from datamill.service.states import (
    AttemptState,
    ExperimentState,
    Standing,
    TrialPurpose,
    TrialState,
    WorkerState,
)


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


class Event(models.Model):
    """What happened, for ever: who, what package, where, when. The database refuses changes.

    Nothing refers to other tables, so that the account outlives what it tells of.
    """

    unix_s = models.FloatField()
    kind = models.CharField(max_length=32)
    user = models.CharField(max_length=150, default="")
    worker_id = models.CharField(max_length=16, default="")
    experiment_id = models.BigIntegerField(null=True)
    attempt = models.CharField(max_length=64, default="")
    package_sha256 = models.CharField(max_length=64, default="")
    detail = models.TextField(default="")  # one sentence

    class Meta:
        """Looked up by experiment and by worker."""

        indexes: ClassVar = [
            models.Index(fields=["experiment_id", "id"], name="event_of_experiment"),
            models.Index(fields=["worker_id", "id"], name="event_of_worker"),
        ]
