"""Judgements on what happened: which observations may be used, and what a reader must know of the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from datamill.design.design import PlannedTrial
from datamill.experiment.messages.numbers import format_fixed
from datamill.protocol.quiet import QuietFacts
from datamill.protocol.trial import FactorFacts, TrialRecord
from datamill.results.judgement.doubts import judge_disturbances

#: Why observations of trials are left out that are not for the question.
REFERENCE_REASON = "reference trial: shows drift, not part of the question"
CALIBRATION_REASON = "calibration trial: shows what a measurement costs, not part of the question"
#: What the exclusion of a measurement begins with that an execution only takes to warm up.
WARM_UP = "warm-up"
#: The same of what other tools report beside their observations: how they sought the number of loops of a
#: measurement, and figures that sum up observations.
CALIBRATION, AGGREGATE = "calibration", "aggregate"
#: Failures that say something about the host, not about the package: the trial is attempted again.
HOST_FAILURES = frozenset({"disk_full", "isolation", "memory_killed", "internal"})


@dataclass(frozen=True, slots=True)
class CountedTrials:
    """Which attempt counts for each trial.

    `counted` maps a trial to the attempt that stands for it; every other attempt is kept and marked.
    """

    counted: dict[str, int]


def count_trials_once(records: Sequence[TrialRecord]) -> CountedTrials:
    """Choose for each trial the attempt that counts.

    That is the first completed one without a doubt about it, else the first completed one, else the
    latest. What was measured plays no part in the choice.
    """
    completed: dict[str, list[int]] = {}
    latest: dict[str, int] = {}
    for record in records:
        latest[record.trial_id] = max(latest.get(record.trial_id, 0), record.attempt)
        if record.outcome == "completed":
            completed.setdefault(record.trial_id, []).append(record.attempt)
    counted = latest | {trial: attempts[0] for trial, attempts in completed.items()}
    repeated = {trial: attempts for trial, attempts in completed.items() if len(attempts) > 1}
    if repeated:
        doubts = judge_disturbances(records)
        for trial, attempts in repeated.items():
            counted[trial] = next((n for n in attempts if (trial, n) not in doubts), attempts[0])
    return CountedTrials(counted)


def explain_exclusion(record: TrialRecord, counted: CountedTrials) -> str:
    """Return why no observation of this attempt may be used, or an empty text when all may be."""
    if counted.counted[record.trial_id] != record.attempt:
        return f"attempt {counted.counted[record.trial_id]} counts for this trial"
    if record.outcome != "completed":
        if record.failure is not None and record.failure.kind == "timeout":
            return record.failure.message  # which says that its time ran out
        if record.failure is not None:
            return f"trial {record.outcome.replace('_', ' ')}: {record.failure.message}"
        return f"trial {record.outcome.replace('_', ' ')}"
    for factor in record.factors:
        if factor.observed is not None and factor.observed != factor.asked:
            return f"{factor.name} was {factor.observed}, not {factor.asked} as planned"
    return ""


def explain_purpose(trial: PlannedTrial) -> str:
    """Return why a trial that is not for the question is left out of its analysis, else an empty text."""
    if trial.purpose == "reference":
        return REFERENCE_REASON
    if trial.purpose == "calibration":
        return CALIBRATION_REASON
    return ""


def wants_another_attempt(record: TrialRecord) -> bool:
    """Tell whether a trial failed for a reason that is not the package's own."""
    if record.outcome == "lost":
        return True
    return record.failure is not None and record.failure.kind in HOST_FAILURES


def list_warnings(records: Iterable[TrialRecord], *, used_names: Collection[str] = ()) -> tuple[str, ...]:
    """Return what a reader must know before believing the numbers, one sentence each, most frequent first.

    `used_names` are the built-in responses that the experiment's formulas use: the limits of others
    are nobody's concern.
    """
    asked: Counter[tuple[str, str]] = Counter()
    unseen: dict[tuple[str, str], list[FactorFacts]] = defaultdict(list)
    wrong: dict[tuple[str, str], list[FactorFacts]] = defaultdict(list)
    notices: Counter[tuple[str, str]] = Counter()
    left: Counter[str] = Counter()
    small: Counter[str] = Counter()
    isolation: Counter[tuple[str, str]] = Counter()
    guests: Counter[str] = Counter()
    waits: list[QuietFacts] = []
    trials: Counter[str] = Counter()
    for record in records:
        trials[record.package] += 1
        for factor in record.factors if record.outcome == "completed" else ():
            key = (factor.name, record.package)
            asked[key] += 1
            if factor.observed is None:
                unseen[key].append(factor)
            elif factor.observed != factor.asked:
                wrong[key].append(factor)
        for notice in record.notices:
            notices[(record.package, notice)] += 1
        # What was killed because its time was up is no finding about the package.
        if record.run is not None and record.run.left_processes and record.outcome != "timed_out":
            left[record.package] += 1
        if record.run is not None and record.run.peak_memory_bytes <= record.run.peak_memory_floor_bytes:
            small[record.package] += 1
        if record.quiet is not None:
            waits.append(record.quiet)
        isolation[(record.isolation.kind, record.isolation.reason)] += 1
        if (guest := record.isolation.guest) is not None:
            guests[f"{guest.accelerator} with Linux {guest.kernel} and {guest.processors} processors"] += 1

    warnings = []
    for (name, package), facts in unseen.items():
        warnings.append(
            f"factor {name} was not effective for package {package}: nothing shows that its level was set in "
            f"{len(facts)} of {asked[name, package]} trials ({facts[0].evidence})"
        )
    for (name, package), facts in wrong.items():
        first = facts[0]
        warnings.append(
            f"factor {name} had another level than planned in {len(facts)} of {asked[name, package]} trials "
            f"of package {package}; their observations are excluded (first: asked {first.asked}, saw "
            f"{first.observed}: {first.evidence})"
        )
    for package, count in left.most_common():
        warnings.append(
            f"run.sh of package {package} left processes behind in {count} trials; they were killed, and "
            "their processor time is not in the figures"
        )
    for package, count in small.most_common() if "peak_memory_bytes" in used_names else ():
        warnings.append(
            f"the peak memory of package {package} is only an upper bound in {count} trials: the program "
            "needs less than the worker that starts it"
        )
    for (package, notice), count in notices.most_common(10):
        own = "all trials" if count == trials[package] else f"{count} of {trials[package]} trials"
        warnings.append(f"{own} of package {package}: {notice}")
    if len({kind for kind, _ in isolation}) > 1:
        kinds = ", ".join(f"{kind} in {count}" for (kind, _), count in isolation.most_common())
        warnings.append(f"trials were not all kept apart from the host in the same way: {kinds}")
    warnings += _tell_waits(waits, trials.total())
    if len(guests) > 1:
        told = ", ".join(f"{guest} in {count}" for guest, count in guests.most_common())
        warnings.append(
            f"trials did not all run in the same kind of guest: {told}; compare no times of unlike ones"
        )
    return tuple(warnings)


def _tell_waits(waits: Sequence[QuietFacts], trials: int) -> list[str]:
    """Return what is to be known of trials that waited for a quiet machine; nothing where all found one."""
    long = [facts for facts in waits if facts.windows > 1 or not facts.quiet]
    if not long:
        return []
    times = sorted(facts.waited_ns / 1e9 for facts in long)
    missed = sum(not facts.quiet for facts in long)
    ended = f", and {missed} of them measured while others still ran" if missed else ""
    return [
        f"the machine was not quiet before {len(long)} of {trials} trials, which waited for it, half of them "
        f"{format_fixed(times[len(times) // 2], 1)} s or longer{ended}"
    ]
