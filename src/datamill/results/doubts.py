"""Judgements on disturbances: which trials may have been disturbed, by which rule.

A doubt marks a trial and never removes it: its observations stay valid, and the report shows whether
the conclusions hold without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from datamill.results.trial_record import DisturbanceFacts, PhaseFacts, TrialRecord

#: The kernel counts processor time in ticks of this length: a difference of one tick proves nothing.
_TICK_NS = 10_000_000
#: Fewer like trials than this have no usual value to compare with.
_FEWEST_LIKE = 5
#: Messages of the worker's own mounts, not of a disturbance.
_HARMLESS_LINES = ("overlayfs:",)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the rules look at: the measured phase, what else went on, and what is usual for like trials."""

    run: PhaseFacts
    facts: DisturbanceFacts
    usual: Mapping[str, float]

    def exceeds_usual(self, name: str, value: float | None, *, factor: float, least: float) -> bool:
        """Tell whether a value is more than `factor` times the usual one, and by more than `least`."""
        if value is None or name not in self.usual:
            return False
        return value > factor * self.usual[name] and value - self.usual[name] > least


@dataclass(frozen=True, slots=True)
class DoubtRule:
    """A stated rule: its name, what it says, and a function that tells what was seen, or nothing."""

    name: str
    statement: str
    see: Callable[[_Trial], str]


def _see_steal(trial: _Trial) -> str:
    stolen = trial.facts.steal_time_ns or 0
    if stolen <= max(0.01 * trial.run.wall_time_ns, _TICK_NS):
        return ""
    return f"the hypervisor took {stolen / 1e6:.0f} ms of processor time"


def _see_others(trial: _Trial) -> str:
    other = trial.facts.other_time_ns or 0
    if other <= max(0.05 * trial.run.wall_time_ns, 3 * _TICK_NS):
        return ""
    return f"other processes used {other / 1e6:.0f} ms of processor time"


def _see_switches(trial: _Trial) -> str:
    switches = trial.run.involuntary_switches
    if not trial.exceeds_usual("switches", switches, factor=3, least=20):
        return ""
    return f"{switches} involuntary context switches, where {trial.usual['switches']:.0f} are usual"


def _see_stall(name: str, words: str) -> Callable[[_Trial], str]:
    def see(trial: _Trial) -> str:
        stall: int | None = getattr(trial.facts, f"{name}_stall_ns")
        if not trial.exceeds_usual(name, stall, factor=2, least=0.02 * trial.run.wall_time_ns):
            return ""
        return f"{(stall or 0) / 1e6:.0f} ms of waiting for {words}"

    return see


def _see_swapping(trial: _Trial) -> str:
    pages = trial.facts.swapped_pages or 0
    return f"{pages} pages were swapped" if pages else ""


def _see_throttling(trial: _Trial) -> str:
    events = trial.facts.throttle_events or 0
    return f"a processor was throttled {events} times for heat" if events else ""


def _see_frequency(trial: _Trial) -> str:
    frequency, usual = trial.facts.highest_frequency_khz, trial.usual.get("frequency")
    if frequency is None or usual is None or abs(frequency - usual) <= 0.05 * usual:
        return ""
    return f"the processors ran at {frequency / 1e6:.2f} GHz, where {usual / 1e6:.2f} GHz is usual"


def _see_clock(trial: _Trial) -> str:
    jump = trial.facts.clock_jump_ns or 0
    # Adjusting a clock slowly changes its rate by up to 500 parts in a million.
    if abs(jump) <= 1_000_000 + 0.0005 * trial.facts.span_ns:
        return ""
    return f"the wall clock jumped by {jump / 1e6:.1f} ms"


def _see_suspension(trial: _Trial) -> str:
    suspended = trial.facts.suspended_ns or 0
    return f"the machine was suspended for {suspended / 1e9:.1f} s" if suspended > 1_000_000 else ""


def _see_kernel_lines(trial: _Trial) -> str:
    lines = [line for line in trial.facts.kernel_lines if not line.startswith(_HARMLESS_LINES)]
    return f"the kernel warned: {lines[0]}" if lines else ""


RULES = (
    DoubtRule("steal", "the hypervisor took more than 1% of the wall time (and more than 10 ms)", _see_steal),
    DoubtRule(
        "other processes", "other processes used more than 5% of the wall time (and 30 ms)", _see_others
    ),
    DoubtRule(
        "preemption",
        "more than 3 times the involuntary switches that are usual for like trials (and 20 more)",
        _see_switches,
    ),
    DoubtRule(
        "memory pressure",
        "waiting for memory more than twice as long as like trials, by 2% of the wall time",
        _see_stall("memory", "memory"),
    ),
    DoubtRule(
        "i/o pressure",
        "waiting for input and output more than twice as long as like trials, by 2% of the wall time",
        _see_stall("io", "input and output"),
    ),
    DoubtRule("swapping", "a page was swapped in or out", _see_swapping),
    DoubtRule("throttling", "a processor was throttled for heat", _see_throttling),
    DoubtRule(
        "frequency", "the processors' frequency departed by more than 5% from like trials", _see_frequency
    ),
    DoubtRule("clock", "the wall clock was set by more than 1 ms", _see_clock),
    DoubtRule("suspension", "the machine was suspended", _see_suspension),
    DoubtRule("kernel log", "the kernel logged a warning or worse", _see_kernel_lines),
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A rule that a trial broke, and what was seen."""

    rule: str
    seen: str


def judge_disturbances(records: Sequence[TrialRecord]) -> dict[tuple[str, int], tuple[Doubt, ...]]:
    """Return the doubts about each completed attempt that has some, by trial and attempt.

    Like trials are the completed ones at the same levels of the same package, or all of the package
    where these are fewer than five; `RULES` states the rules.
    """
    usual = _find_usual(records)
    doubts: dict[tuple[str, int], tuple[Doubt, ...]] = {}
    for record in records:
        if record.outcome != "completed" or record.run is None or record.disturbance is None:
            continue
        trial = _Trial(record.run, record.disturbance, usual.get(_point(record)) or usual[(record.package,)])
        found = tuple(Doubt(rule.name, seen) for rule in RULES if (seen := rule.see(trial)))
        if found:
            doubts[record.trial_id, record.attempt] = found
    return doubts


def _point(record: TrialRecord) -> tuple[str, ...]:
    return (record.package, *(f"{name}={level}" for name, level in sorted(record.levels.items())))


def _find_usual(records: Iterable[TrialRecord]) -> dict[tuple[str, ...], dict[str, float]]:
    """Return medians over like trials, for design points with enough of them and for whole packages."""
    values: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.outcome != "completed" or record.run is None or record.disturbance is None:
            continue
        facts = record.disturbance
        seen = {
            "switches": record.run.involuntary_switches,
            "memory": facts.memory_stall_ns,
            "io": facts.io_stall_ns,
            "frequency": facts.highest_frequency_khz,
        }
        for key in {_point(record), (record.package,)}:
            group = values[key]
            for name, value in seen.items():
                if value is not None:
                    group[name].append(value)
    return {
        key: {name: median(numbers) for name, numbers in group.items() if len(numbers) >= _FEWEST_LIKE}
        for key, group in values.items()
        if len(key) == 1 or len(group["switches"]) >= _FEWEST_LIKE
    }
