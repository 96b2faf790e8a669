"""The profiles of an experiment in its bundle: which there are, of which build, for which trials."""

from __future__ import annotations

from collections import defaultdict

from datamill.protocol.api.bundles import BundleProfile
from datamill.protocol.trial import TrialRecord
from datamill.results.trials.log import decode_record
from datamill.service.coordinator.leasing.leases import decode_planned_trial
from datamill.service.models import Attempt, FleetExperiment, Trial
from datamill.service.queue.stages import explain_needs
from datamill.service.states import AttemptState, TrialPurpose

#: Name of the file in the bundle.
PROFILES_FILE = "profiles.json"


def list_profiles(experiment: FleetExperiment) -> tuple[BundleProfile, ...]:
    """Return the profiles that an experiment has, or waits for, in the order of the plan."""
    stored = Trial.objects.filter(experiment=experiment, purpose=TrialPurpose.PROFILE)
    trials = list(stored.select_related("worker").order_by("position"))
    if not trials:
        return ()
    measured: dict[int, list[str]] = defaultdict(list)
    needing = Trial.objects.filter(needs__in=[trial.pk for trial in trials]).order_by("position")
    for needs, trial_id in needing.values_list("needs_id", "trial_id"):
        measured[needs].append(trial_id)
    made = {
        trial: (number, worker, decode_record(bytes(record or b""), where=""))
        for trial, number, worker, record in Attempt.objects.filter(
            trial__in=[trial.pk for trial in trials], state=AttemptState.COUNTED
        ).values_list("trial_id", "number", "worker__name", "record")
    }
    why_not = explain_needs(experiment.pk, trials)
    return tuple(
        _describe(trial, made.get(trial.pk), why_not.get(trial.pk, ("", ""))[1], tuple(measured[trial.pk]))
        for trial in trials
    )


def _describe(
    trial: Trial, made: tuple[int, str, TrialRecord] | None, why_not: str, measured: tuple[str, ...]
) -> BundleProfile:
    plan = decode_planned_trial(bytes(trial.plan))
    number, machine, record = made if made is not None else (0, trial.worker.name, None)
    failure = record.failure.message if record is not None and record.failure is not None else ""
    archive = record.archive if record is not None else None
    return BundleProfile(
        profile=trial.trial_id,
        package=plan.package,
        machine=machine,
        levels=dict(plan.levels),
        build=record.build.id if record is not None and record.build is not None else "",
        state=trial.state if record is None else record.outcome,
        reason=failure or why_not,
        file=f"artifacts/{trial.trial_id}.{number}/{archive.file}" if archive is not None else "",
        bytes=archive.bytes if archive is not None else 0,
        sha256=archive.sha256 if archive is not None else "",
        trials=measured,
    )
