"""What trials of an experiment wait for, stage by stage and one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from datamill.protocol.api.fleet.stages import Stage, StageLine
from datamill.results.trials.log import decode_record
from datamill.service.coordinator.leasing.dependents import NEEDED
from datamill.service.coordinator.state.events import EventKind
from datamill.service.models import Attempt, Event, Trial
from datamill.service.states import ENDED_TRIALS, AttemptState, TrialPurpose, TrialState

#: Stages in their order, by the purpose of their trials; debug trials are no part of what is asked.
_STAGES: Mapping[str, Stage] = {
    TrialPurpose.BUILD: "build",
    TrialPurpose.PROFILE: "profile",
    TrialPurpose.DESIGN: "measure",
}


def describe_stages(counts: Iterable[tuple[str, str, int]]) -> tuple[StageLine, ...]:
    """Return the stages of an experiment; none where all of its trials are of one.

    Args:
        counts: purpose, state, and how many trials have both.
    """
    by_stage: dict[str, Counter[str]] = {}
    for purpose, state, trials in counts:
        if purpose in _STAGES and trials:
            by_stage.setdefault(purpose, Counter())[state] += trials
    if len(by_stage) < 2:
        return ()
    lines: list[StageLine] = []
    unfinished = ""
    for purpose, stage in _STAGES.items():
        if purpose not in by_stage:
            continue
        states = by_stage[purpose]
        waiting = states[TrialState.WAITING]
        lines.append(
            StageLine(
                stage=stage,
                done=states[TrialState.COUNTED],
                under_way=states[TrialState.LEASED],
                ready=states[TrialState.PLANNED],
                waiting=waiting,
                given_up=states[TrialState.GIVEN_UP],
                cancelled=states[TrialState.CANCELLED],
                waits_for=unfinished if waiting else "",
            )
        )
        if any(count for state, count in states.items() if state not in ENDED_TRIALS):
            unfinished = stage
    return tuple(lines)


def explain_needs(experiment_id: int, trials: Collection[Trial]) -> dict[int, tuple[str, str]]:
    """Return what each trial needs, and why it is not run: by its row, those alone that need another trial.

    The second is empty of trials that are run, or may be.
    """
    needed = {trial.needs_id for trial in trials if trial.needs_id is not None}
    if not needed:
        return {}
    names = dict(Trial.objects.filter(pk__in=needed).values_list("pk", "trial_id"))
    own = _read_reasons(experiment_id)
    told = {}
    for trial in trials:
        name, why = names.get(trial.needs_id or 0, ""), ""
        if not name:
            continue
        if trial.state == TrialState.WAITING:
            why = f"waits for {name}"
        elif trial.state == TrialState.GIVEN_UP and not trial.attempts:
            why = own.get(trial.trial_id) or f"it needs {name}, which gave no profile"
        told[trial.pk] = (name, why)
    return told


def _read_reasons(experiment_id: int) -> dict[str, str]:
    """Return why trials were given up of which an event of their own tells, by their identities."""
    events = Event.objects.filter(experiment_id=experiment_id, kind=EventKind.GIVEN_UP).order_by("pk")
    return {
        attempt.split(".")[1]: detail
        for attempt, detail in events.values_list("attempt", "detail")
        if attempt
    }


def explain_failed_needs(trials: Collection[Trial]) -> dict[int, str]:
    """Return why builds and profiles failed whose records count, by their rows."""
    rows = [trial.pk for trial in trials if trial.purpose in NEEDED]
    failed = Attempt.objects.filter(trial__in=rows, state=AttemptState.COUNTED).exclude(outcome="completed")
    reasons = {}
    for row, record in failed.values_list("trial_id", "record"):
        failure = decode_record(bytes(record or b""), where="").failure
        reasons[row] = failure.message if failure is not None else ""
    return reasons
