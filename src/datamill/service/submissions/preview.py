"""What is shown of a plan before it is submitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256

import msgspec
from django.contrib.auth.models import User
from msgspec.structs import replace

from datamill.conduct.question.doubts import list_doubts
from datamill.conduct.question.needed_metrics import list_unchecked_metrics
from datamill.design.batches import phrase_batches, phrase_rule
from datamill.design.design import DesignFactor
from datamill.design.fleet.fleet_records import Candidate, FleetPlan, find_level
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.nuisance import phrase_treatment
from datamill.experiment.experiment import Experiment
from datamill.protocol.api.plans import (
    CoveredLevels,
    ExcludedWorker,
    PlannedFactor,
    PlannedWorker,
    SubmissionPlan,
)
from datamill.service.submissions.planning import (
    PlannedSubmission,
    make_plan,
)
from datamill.service.submissions.submission import Submission


def preview_submission(submission: Submission, user: User) -> SubmissionPlan:
    """Return the preview of a submission, planned here and now.

    Raises:
        InputError: as `make_plan` does.
    """
    return describe_plan(make_plan(submission, user))


def describe_plan(planned: PlannedSubmission) -> SubmissionPlan:
    """Return the preview of a plan: who takes part and why, how large it is, until when.

    Its `digest` is the same as long as what a user confirms is the same, however long the fleet is busy.
    """
    plan, experiment = planned.plan, planned.experiment
    size, why = plan.size, explain_choices(plan)
    shown = SubmissionPlan(
        name=experiment.name,
        workers=tuple(PlannedWorker(item.name, why[item.worker_id]) for item in plan.chosen),
        spares=tuple(item.name for item in plan.spares),
        ineligible=tuple(ExcludedWorker(item.name, item.reason) for item in plan.ineligible),
        coverage={
            name: CoveredLevels(tuple(chosen), tuple(levels))
            for name, (chosen, levels) in plan.coverage.items()
        },
        factors=tuple(
            PlannedFactor(item.name, tuple(item.levels), explain_treatment(experiment, item))
            for item in plan.design.factors
        ),
        points=size.points,
        replicates=size.replicates,
        trials=size.trials,
        growth=phrase_growth(planned),
        debug_trials=count_debug_trials(planned),
        reboot=experiment.fleet.reboot,
        debug=experiment.fleet.debug,
        profiled=_list_profiled(planned),
        finish_s=plan.finish_s,
        warnings=(*plan.warnings, *list_plan_doubts(planned)),
        missing_files=tuple(planned.missing),
        digest="",
    )
    machines = [item.worker_id for item in (*plan.chosen, *plan.spares)]
    return replace(shown, digest=_digest_confirmed(shown, machines))


def _list_profiled(planned: PlannedSubmission) -> tuple[str, ...]:
    """Return the packages whose builds are profiled before trials measure them."""
    fleet = planned.experiment.fleet
    if not fleet.profile or fleet.debug == "only":
        return ()
    files = planned.submission.files
    return tuple(item.name for item in files if item.kind == "package" and item.has_profile)


def _digest_confirmed(shown: SubmissionPlan, machines: list[str]) -> str:
    """Return the SHA-256 of what a user confirms: who takes part, not why; the trials, not until when."""
    confirmed = replace(shown, workers=(), ineligible=(), finish_s=None, warnings=(), missing_files=())
    return sha256(msgspec.json.encode([confirmed, machines])).hexdigest()


def phrase_growth(planned: PlannedSubmission) -> str:
    """Return how an experiment grows on its machines and when it stops; empty of one that does not."""
    experiment, machines = planned.experiment, len(planned.plan.chosen)
    if experiment.until is None:
        return ""
    batches = phrase_batches(experiment, planned.plan.size.points // machines, machines=machines)
    on = "on each machine " if machines > 1 else ""
    return f"{on}{batches}; it goes on {phrase_rule(experiment.until)}"


def list_plan_doubts(planned: PlannedSubmission) -> list[str]:
    """Return what is allowed and yet may disappoint, and what only trials can show, one sentence each."""
    plan, experiment = planned.plan, planned.experiment
    debugging = experiment.fleet.debug != "never"
    shown_by = "the debug trials, before the design begins, show" if debugging else "the first trials show"
    return [
        *list_unchecked_metrics(experiment, shown_by),
        *list_doubts(experiment, plan.design.factors, plan.size.trials, planned.unbuilt),
    ]


def find_changes(confirmed: str, planned: PlannedSubmission) -> str:
    """Return why a plan cannot be submitted that a user confirmed by its digest; empty where it can.

    Without a digest nothing was confirmed, and nothing can have changed.
    """
    if not confirmed or describe_plan(planned).digest == confirmed:
        return ""
    return "the plan has changed since it was shown"


def count_debug_trials(planned: PlannedSubmission) -> int:
    """Return how many debug trials go before the design: one for each architecture and package."""
    if planned.experiment.fleet.debug == "never":
        return 0
    archs = {item.hardware.get("arch", "") for item in planned.plan.chosen}
    return len(archs) * len(planned.experiment.packages)


def explain_treatment(experiment: Experiment, factor: DesignFactor) -> str:
    """Return what is done with a factor that the design does not vary, empty for one that it does."""
    if factor.role == "factor" and len(factor.levels) > 1:
        return ""
    return phrase_treatment(factor, nested=experiment.replication is not None)


def explain_choices(plan: FleetPlan) -> dict[str, str]:
    """Return what each chosen worker brings to the coverage, in words, by its identity."""
    having = Counter(
        (dimension, find_level(dimension, worker)) for dimension in plan.coverage for worker in plan.chosen
    )
    return {worker.worker_id: _explain_choice(plan, worker, having) for worker in plan.chosen}


def _explain_choice(plan: FleetPlan, worker: Candidate, having: Mapping[tuple[str, str | None], int]) -> str:
    parts = []
    for dimension in plan.coverage:
        level = find_level(dimension, worker)
        if level is None:
            continue
        if dimension == MACHINE_FACTOR:
            parts.append("its own machine")
            continue
        alone = having[dimension, level] == 1
        parts.append(f"{dimension} {level}" + (" (it alone)" if alone and len(plan.chosen) > 1 else ""))
    return ", ".join(parts) or "free the earliest of those that may run it"
