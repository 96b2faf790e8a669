"""How far workers, experiments, trials and attempts are: the states of `docs/lifecycles/`."""

from __future__ import annotations

from django.db import models


class WorkerState(models.TextChoices):
    """What a worker is doing, as far as the coordinator knows."""

    IDLE = "idle", "idle"
    BUSY = "busy", "busy"  # an attempt is leased to it
    AWAY = "away", "away"  # no process of it serves: none has said hello since it joined, or since a goodbye
    SILENT = "silent", "silent"  # it missed a deadline and has not been heard of since
    DRAINED = "drained", "drained"  # gets no further trials: by its owner, or for failing too often
    REMOVED = "removed", "removed"  # its credentials are void; its trials stay


class ExperimentState(models.TextChoices):
    """How far an experiment is."""

    DEBUGGING = "debugging", "debugging"  # one trial for each architecture and package, before the design
    HELD = "held", "held"  # waits for a person: a debug trial failed, or a package is quarantined
    RUNNING = "running", "running"
    COMPLETED = "completed", "completed"  # every trial ended; some may have been given up
    CANCELLED = "cancelled", "cancelled"


class TrialState(models.TextChoices):
    """How far a trial is."""

    WAITING = "waiting", "waiting"  # of an experiment that debugs or is held, or for what it needs
    PLANNED = "planned", "planned"  # may be leased
    LEASED = "leased", "leased"  # an attempt is under way
    COUNTED = "counted", "counted"  # has the record that counts
    GIVEN_UP = "given_up", "given up"  # no attempt will be made any more, and none counts
    CANCELLED = "cancelled", "cancelled"


class AttemptState(models.TextChoices):
    """How far an attempt at a trial is."""

    LEASED = "leased", "leased"  # ordered; the worker may not know yet
    TAKEN = "taken", "taken"  # in the worker's journal
    COUNTED = "counted", "counted"  # its record is the trial's
    LATE = "late", "late"  # its record is kept and not counted: another attempt's was there first
    FAULTY = "faulty", "faulty"  # ended with a failure of the host, or a report that cannot be used
    REFUSED = "refused", "refused"  # the worker would not or could not make it
    LOST = "lost", "lost"  # its deadline passed, or the machine went down in it
    CANCELLED = "cancelled", "cancelled"


class TrialPurpose(models.TextChoices):
    """What a trial of the fleet is for."""

    DESIGN = "design", "design"
    DEBUG = "debug", "debug"
    BUILD = "build", "build"  # makes a build that others measure or profile
    PROFILE = "profile", "profile"  # profiles a build on a machine before its trials measure it there


class Standing(models.TextChoices):
    """What the first trials of a package in an experiment showed of it."""

    FAILING = "failing", "failing"  # all that ended failed alike, and a level may yet be to blame
    SOUND = "sound", "sound"  # one completed
    UNLIKE = "unlike", "unlike"  # they failed for unlike reasons
    STOPPED = "stopped", "stopped"  # enough of them failed alike: its other trials are cancelled


#: States in which an attempt holds its worker.
OPEN_ATTEMPTS = (AttemptState.LEASED, AttemptState.TAKEN)
#: States in which a trial has ended.
ENDED_TRIALS = (TrialState.COUNTED, TrialState.GIVEN_UP, TrialState.CANCELLED)
#: States in which an experiment has ended, and those in which it has not.
ENDED_EXPERIMENTS = (ExperimentState.COMPLETED, ExperimentState.CANCELLED)
OPEN_EXPERIMENTS = (ExperimentState.DEBUGGING, ExperimentState.HELD, ExperimentState.RUNNING)
