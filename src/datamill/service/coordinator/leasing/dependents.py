"""What becomes of trials that need a build or a profile: when it is done, and when it never will be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from datamill.service.coordinator.state.events import EventKind, NewEvent
from datamill.service.coordinator.state.rows import execute, select_rows
from datamill.service.states import TrialPurpose

#: Purposes of trials that others need.
NEEDED = (TrialPurpose.BUILD, TrialPurpose.PROFILE)


def of_open_batch(trial: str, limit: str) -> str:
    """Return SQL that tells whether a trial is of a batch that may go.

    A build or a profile is where a trial is that needs it, directly or through a profile.

    Args:
        trial: name of the table of trials in the statement.
        limit: SQL of the last position that may go.
    """
    return (
        f"({trial}.position <= {limit} AND ({trial}.purpose NOT IN ('build', 'profile') OR EXISTS ("
        f"SELECT 1 FROM datamill_trial n WHERE n.needs_id = {trial}.id AND n.position <= {limit} AND ("
        f"n.purpose <> 'profile' OR EXISTS (SELECT 1 FROM datamill_trial m "
        f"WHERE m.needs_id = n.id AND m.position <= {limit})))))"
    )


_RELEASE = f"""
UPDATE datamill_trial SET state = 'planned' WHERE id IN (
    SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
    WHERE t.needs_id = %s AND t.state = 'waiting' AND t.purpose IN (%s, %s)
        AND (e.open_position IS NULL OR {of_open_batch("t", "e.open_position")})
)
"""


@dataclass(frozen=True, slots=True)
class EndedNeed:
    """A build or a profile that ended: `done`, or else the `reason` why it failed."""

    row: int
    trial_id: str
    purpose: str
    experiment_id: int
    is_running: bool  # the experiment
    user: str
    worker_id: str
    package_sha256: str
    done: bool
    reason: str = ""


def settle_dependents(ended: Iterable[EndedNeed]) -> list[NewEvent]:
    """Let trials go whose build or profile is done, and end those that wait for one that never will be.

    Measuring trials without a build made for them build where they run. A profile without its build, and a
    trial without its profile, are given up: users who ask for profiles want them before anything is
    measured.

    Returns:
        What happened.
    """
    events: list[NewEvent] = []
    for need in ended:
        if need.done:
            if need.is_running:
                execute(_RELEASE, [need.row, TrialPurpose.DESIGN, TrialPurpose.PROFILE])
        elif need.purpose == TrialPurpose.BUILD:
            events += _go_without_build(need)
        else:
            events += _give_up_unprofiled(need)
    return events


def _go_without_build(build: EndedNeed) -> list[NewEvent]:
    if build.is_running:
        execute(_RELEASE, [build.row, TrialPurpose.DESIGN, TrialPurpose.DESIGN])
    without = execute(
        "UPDATE datamill_trial SET needs_id = NULL WHERE needs_id = %s AND purpose = 'design'", [build.row]
    )
    events = []
    if without:
        detail = f"{build.trial_id} gave no build; its trials build where they run."
        events.append(_tell(EventKind.BUILD_MISSING, build, detail))
    profiles = select_rows(
        "SELECT id, trial_id, worker_id FROM datamill_trial "
        "WHERE needs_id = %s AND purpose = 'profile' AND state = 'waiting' ORDER BY id",
        [build.row],
    )
    for row, trial_id, worker_id in profiles:
        execute("UPDATE datamill_trial SET state = 'given_up' WHERE id = %s", [row])
        reason = f"it needs {build.trial_id}, which gave no build: {build.reason}"
        profile = EndedNeed(
            row, trial_id, TrialPurpose.PROFILE, build.experiment_id, build.is_running, build.user, worker_id,
            build.package_sha256, done=False, reason=reason,
        )  # fmt: skip
        events.append(_tell(EventKind.GIVEN_UP, profile, reason, f"{build.experiment_id}.{trial_id}.0"))
        events += _give_up_unprofiled(profile)
    return events


def _give_up_unprofiled(profile: EndedNeed) -> list[NewEvent]:
    given_up = execute(
        "UPDATE datamill_trial SET state = 'given_up' WHERE needs_id = %s AND state = 'waiting'",
        [profile.row],
    )
    if not given_up:
        return []
    who = "the trial that needs it is" if given_up == 1 else f"the {given_up} trials that need it are"
    detail = f"{profile.trial_id} gave no profile, and {who} given up: {profile.reason}"
    return [_tell(EventKind.PROFILE_MISSING, profile, detail)]


def _tell(kind: EventKind, need: EndedNeed, detail: str, attempt: str = "") -> NewEvent:
    return NewEvent(
        kind,
        user=need.user,
        worker_id=need.worker_id,
        experiment_id=need.experiment_id,
        attempt=attempt,
        package_sha256=need.package_sha256,
        detail=detail,
    )
