"""Whether the performance of a benchmark changed between two programs, by what was measured of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.groups.ranks.rank_sums import find_tails
from datamill.analysis.ordered.ranks import rank_values
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.versions.compare import compare_versions
from datamill.experiment.messages.numbers import format_share
from datamill.selection.history.records import Observation, WorkCount
from datamill.selection.history.settings import REPETITIONS, TruthSetting

ALPHA = 0.05
#: Least change that counts: of times, and of counted instructions, which hardly vary.
TIME_THRESHOLD, COUNT_THRESHOLD = 0.01, 0.001


@dataclass(frozen=True, slots=True)
class Truth:
    """Whether a benchmark changed, None where too little was measured; `ratio` is new by old.

    `is_sure` is False where a change as large as the threshold could neither be seen nor excluded: such a
    case counts as unchanged.
    """

    changed: bool | None
    ratio: float | None = None
    is_sure: bool = True


UNKNOWN = Truth(None)


def find_threshold(setting: TruthSetting) -> float:
    """Return the least change that counts; the test of ranks alone has none unless one is set."""
    if setting.threshold is not None:
        return setting.threshold
    if setting.rule == "mann-whitney":
        return 0.0
    return COUNT_THRESHOLD if setting.rule == "instructions" else TIME_THRESHOLD


def measure_spread(counts: Iterable[WorkCount]) -> float:
    """Return by which share counts of one program differed at most, of those that were counted twice."""
    return max(
        (
            abs(item.again - item.instructions) / item.instructions
            for item in counts
            if item.again is not None and item.instructions
        ),
        default=0.0,
    )


def warn_of_spread(benchmark: str, spread: float, setting: TruthSetting) -> str:
    """Say that counts of a benchmark differ from themselves by what is to be seen, or nothing."""
    if setting.rule != "instructions" or spread < find_threshold(setting):
        return ""
    return (
        f"two counts of one program differed by {format_share(spread)} in {benchmark}: "
        "what differs by no more counts as unchanged"
    )


def judge_counts(
    old: WorkCount | None, new: WorkCount | None, setting: TruthSetting, spread: float = 0.0
) -> Truth:
    """Compare instructions that a benchmark executed: changed from the threshold on.

    `spread` is by which share two counts of one program differed: what differs by no more has not changed,
    as far as is known. Of n programs that were counted twice, counts of another differ by more than all of
    them with a probability of 1 / (n + 1). Nothing is said where different machines counted, whose libraries
    do the same in other instructions, or where they were counted in another way.
    """
    if old is None or new is None or not old.instructions or new.instructions is None:
        return UNKNOWN
    if (old.machine, old.way) != (new.machine, new.way):
        return UNKNOWN
    apart, threshold = abs(new.instructions - old.instructions), find_threshold(setting)
    changed = apart >= threshold * old.instructions and apart > spread * old.instructions
    return Truth(changed, new.instructions / old.instructions, changed or spread < threshold)


def judge_times(old: Sequence[Observation], new: Sequence[Observation], setting: TruthSetting) -> Truth:
    """Compare executions of a benchmark of two programs.

    `mann-whitney`: the two-sided exact test at 0.05 and no threshold unless one is set (thesis 2019, 1.6).
    `relevant`: the random-effects comparison detects a difference (EPEW 2006), and the ratio of the means
    differs from 1 by at least the threshold. Executions of a common session are taken, of the one that has
    most of both; without one all of one machine are, although it may have changed between. Executions of
    different machines are never compared.
    """
    first, second = _take_together(old, new, setting.response)
    if min(len(first), len(second)) < REPETITIONS:
        return UNKNOWN
    ratio = float(np.mean(second) / np.mean(first))
    threshold = find_threshold(setting)
    if setting.rule == "mann-whitney":
        ranks = rank_values(np.concatenate([first, second]))
        lower, upper = find_tails(ranks, len(second), float(np.sum(ranks[len(first) :])))
        found = min(1.0, 2 * min(lower, upper)) < ALPHA
        return Truth(found and abs(ratio - 1) >= threshold, ratio)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return Truth(abs(ratio - 1) >= threshold, ratio)
    change = compare_versions(
        [_nest("old", first), _nest("new", second)],
        threshold=threshold,
        adjustment="none",
        confidence=1 - ALPHA,
    ).changes[0]
    return Truth(change.detected and abs(ratio - 1) >= threshold, ratio, change.detected or change.within)


def _take_together(
    old: Sequence[Observation], new: Sequence[Observation], response: str
) -> tuple[np.ndarray, np.ndarray]:
    # A session of several machines is one on each of them.
    before, after = _count_by_place(old), _count_by_place(new)
    common = {
        place: min(before[place], after[place])
        for place in before
        if min(before[place], after[place]) >= REPETITIONS
    }
    chosen = max(sorted(common), key=lambda place: common[place]) if common else None
    if chosen is None:
        machines = {
            machine: min(
                sum(count for (name, _), count in counts.items() if name == machine)
                for counts in (before, after)
            )
            for machine, _ in sorted(before)
        }
        machine = max(machines, key=lambda name: machines[name]) if machines else ""
    else:
        machine = chosen[0]

    def read(items: Sequence[Observation]) -> np.ndarray:
        kept = [
            item
            for item in items
            if not item.failure and item.machine == machine and chosen in (None, (machine, item.session))
        ]
        values = (
            item.wall_ns if response == "wall" else (item.user_ns or 0) + (item.system_ns or 0)
            for item in kept
        )
        return np.asarray([value for value in values if value], dtype=np.float64)

    return read(old), read(new)


def _count_by_place(items: Sequence[Observation]) -> Counter[tuple[str, str]]:
    """Executions by machine and session."""
    return Counter((item.machine, item.session) for item in items if not item.failure)


def _nest(version: str, values: np.ndarray) -> NestedValues:
    count = len(values)
    return NestedValues(version, "time", "ns", values, np.arange(count + 1), np.asarray([0, count]))
