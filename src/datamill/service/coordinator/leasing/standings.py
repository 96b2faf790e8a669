"""Packages whose first trials in an experiment fail alike are stopped there: the others go on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from datamill.design.design import DesignFactor
from datamill.design.machines import MACHINE_FACTOR
from datamill.protocol.trial import Failure
from datamill.results.judgement.failing_packages import (
    FirstTrials,
    StoppedPackage,
    judge_trial,
    list_varied_factors,
)
from datamill.service.coordinator.leasing.leases import decode_planned_trial, load_stored_experiments
from datamill.service.coordinator.state.events import EventKind, NewEvent, clean_text
from datamill.service.coordinator.state.rows import execute, select_rows
from datamill.service.models import FleetExperiment, PackageStanding
from datamill.service.states import Standing

#: Trials of a stopped package that one step cancels: more would keep reports waiting.
MOST_CANCELLED = 5_000
#: Trials of a package that are looked at to learn which factors it varies.
_MOST_LOOKED_AT = 2_000
_STANDINGS = """
SELECT package_sha256, state, failures, reason_sha256, blamed FROM datamill_packagestanding
WHERE experiment_id = %s AND package_sha256 IN ({marks})
"""
_CANCEL = """
UPDATE datamill_trial SET state = 'cancelled' WHERE id IN (
    SELECT id FROM datamill_trial
    WHERE experiment_id = %s AND package_sha256 = %s AND state IN ('waiting', 'planned')
    LIMIT %s)
"""


@dataclass(frozen=True, slots=True)
class EndedTrial:
    """A trial of the design whose record has just counted; without a failure it completed."""

    attempt_id: int
    experiment_id: int
    user: str
    package_sha256: str
    worker_id: str
    plan: bytes
    failure: Failure | None


class _StoredFactors(msgspec.Struct, frozen=True):
    """The part of a stored design that says what it varies."""

    factors: tuple[DesignFactor, ...]


def judge_ended_trials(ended: Iterable[EndedTrial], now_s: float) -> list[NewEvent]:
    """Note what trials show of their packages that ended, and stop those that failed alike from the first on.

    The rule is that of `datamill run`, with the machine that made a trial as a factor: what one machine alone
    brings about stops nothing. Returns what is to be told.
    """
    # As the log of a bundle has them, so that readers of either find the same.
    groups: dict[tuple[int, str], list[EndedTrial]] = defaultdict(list)
    for trial in sorted(ended, key=lambda item: item.attempt_id):
        groups[trial.experiment_id, trial.package_sha256].append(trial)
    known: dict[tuple[int, str], FirstTrials] = {}
    for number in {number for number, _ in groups}:
        known |= _read_standings(number, [sha256 for other, sha256 in groups if other == number])
    events = []
    for (number, sha256), trials in groups.items():
        before = known.get((number, sha256))
        if before is not None and before.verdict != "failing":
            continue
        first, last = before or FirstTrials(), trials[0]
        varied: set[str] = set()
        if not first.failures and any(trial.failure is not None for trial in trials):
            varied = _list_varied(number, sha256)
        for last in trials:
            first = judge_trial(first, last.failure, _list_levels(last), varied)
            if first.verdict != "failing":
                break
        if first.verdict == "stopped" and last.failure is not None:
            stopped = _describe(number, sha256, first, last.failure)
            if stopped is None:
                # Two packages of one content may ask for different things: neither speaks for the other.
                first = replace(first, verdict="unlike")
            else:
                _write_standing(number, sha256, first, stopped, now_s)
                events.append(_tell(last, stopped))
                cancel_stopped_trials(number, sha256)
                continue
        _write_standing(number, sha256, first, None, now_s)
    return events


def cancel_stopped_trials(experiment_id: int, package_sha256: str) -> bool:
    """Cancel trials of a stopped package, as many as one step may; return whether there are more."""
    more = execute(_CANCEL, [experiment_id, package_sha256, MOST_CANCELLED]) == MOST_CANCELLED
    PackageStanding.objects.filter(
        experiment=experiment_id, package_sha256=package_sha256, state=Standing.STOPPED
    ).update(cancelling=more)
    return more


def cancel_more_stopped_trials() -> bool:
    """Cancel more trials of packages that were stopped; return whether there are still more."""
    rows = PackageStanding.objects.filter(cancelling=True).order_by("pk")
    unfinished = [
        cancel_stopped_trials(*pair) for pair in rows.values_list("experiment_id", "package_sha256")
    ]
    return any(unfinished)


def list_stopping_experiments() -> set[int]:
    """Return the experiments with trials left to cancel of a package that was stopped."""
    return set(PackageStanding.objects.filter(cancelling=True).values_list("experiment_id", flat=True))


def list_stopped(experiment_id: int) -> list[PackageStanding]:
    """Return the packages that were stopped in an experiment, the first one first."""
    rows = PackageStanding.objects.filter(experiment=experiment_id, state=Standing.STOPPED)
    return list(rows.order_by("stopped_unix_s", "pk"))


def explain_stops(experiment_id: int) -> str:
    """Return which packages of an experiment were stopped, and why; empty when none was."""
    stopped = list_stopped(experiment_id)
    if not stopped:
        return ""
    names = ", ".join(item.package for item in stopped)
    return (
        f"package {names} was stopped: its first {stopped[0].failures} trials failed alike"
        if len(stopped) == 1
        else f"packages {names} were stopped: their first trials failed alike"
    )


def _read_standings(experiment_id: int, packages: Sequence[str]) -> dict[tuple[int, str], FirstTrials]:
    query = _STANDINGS.replace("{marks}", ", ".join(["%s"] * len(packages)))
    return {
        (experiment_id, sha256): FirstTrials(state, failures, reason, json.loads(blamed))
        for sha256, state, failures, reason, blamed in select_rows(query, [experiment_id, *packages])
    }


def _write_standing(
    experiment_id: int, sha256: str, first: FirstTrials, stopped: StoppedPackage | None, now_s: float
) -> None:
    told: dict[str, object] = {
        "state": first.verdict,
        "failures": first.failures,
        "reason_sha256": first.reason,
        "blamed": json.dumps(dict(first.blamed)),
    }
    if stopped is not None:
        told |= {
            "package": stopped.package,
            "reason": clean_text(stopped.sentence, 2000),
            "stopped_unix_s": now_s,
            "cancelling": True,
        }
    PackageStanding.objects.update_or_create(
        experiment_id=experiment_id, package_sha256=sha256, defaults=told
    )


def _list_levels(trial: EndedTrial) -> dict[str, str]:
    levels = dict(decode_planned_trial(bytes(trial.plan)).levels)
    if MACHINE_FACTOR in levels:
        # Not where it was planned: it may have moved.
        levels[MACHINE_FACTOR] = trial.worker_id
    return levels


def _list_varied(experiment_id: int, sha256: str) -> set[str]:
    """Return the factors of which a package has several levels.

    Of a package with very many trials those count that the whole design varies.
    """
    rows = select_rows(
        "SELECT plan FROM datamill_trial WHERE experiment_id = %s AND package_sha256 = %s "
        "AND purpose = 'design' LIMIT %s",
        [experiment_id, sha256, _MOST_LOOKED_AT],
    )
    varied = list_varied_factors(decode_planned_trial(bytes(plan)).levels for (plan,) in rows)
    if len(rows) == _MOST_LOOKED_AT:
        design = bytes(FleetExperiment.objects.values_list("design", flat=True).get(pk=experiment_id))
        factors = msgspec.json.decode(design, type=_StoredFactors).factors
        varied |= {item.name for item in factors if len(item.levels) > 1 and item.name != "package"}
    return varied


def _describe(experiment_id: int, sha256: str, first: FirstTrials, failure: Failure) -> StoppedPackage | None:
    """Return the stopped package under its name; None where it has several."""
    head = load_stored_experiments([experiment_id])[experiment_id].head
    names = [item.name for item in head.packages if item.sha256 == sha256]
    if len(names) != 1:
        return None
    return StoppedPackage(names[0], first.failures, failure.message, failure.remedy)


def _tell(last: EndedTrial, stopped: StoppedPackage) -> NewEvent:
    return NewEvent(
        EventKind.STOPPED,
        user=last.user,
        experiment_id=last.experiment_id,
        package_sha256=last.package_sha256,
        detail=f"{stopped.sentence} Its other trials are cancelled. Mend it and submit the experiment again.",
    )
