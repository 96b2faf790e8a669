"""Judgements on disturbances: which trials may have been disturbed, by which rule.

A doubt marks a trial and never removes it: its observations stay valid, and the report shows whether
the conclusions hold without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from datamill.experiment.messages.numbers import format_fixed
from datamill.protocol.quiet import ProcessUse, QuietFacts
from datamill.protocol.trial import DisturbanceFacts, PhaseFacts, TrialRecord

#: The kernel counts processor time in ticks of this length: a difference of one tick proves nothing.
_TICK_NS = 10_000_000
#: What a trial may have on disks beyond like trials, a second: a machine that idles writes now and then.
_DISK_BYTES_PER_S = 16_000_000
#: Fewer like trials than this have no usual value to compare with.
_FEWEST_LIKE = 5
#: Messages about what workers themselves do (mounting a world, setting huge pages), not of a disturbance.
_HARMLESS_LINES = ("overlayfs:", "min_free_kbytes is not updated to ")


def _bound_io_stall(run: PhaseFacts, facts: DisturbanceFacts) -> float | None:
    """The time in which a trial can have waited for input and output, in ns.

    The kernel tells in which time anybody on the machine did. A trial that computed all the time waited for
    none of it; of one with several threads, which computes longer than it takes, that cannot be said.
    """
    computed = run.user_time_ns + run.system_time_ns
    if facts.io_stall_ns is None or computed > run.wall_time_ns:
        return facts.io_stall_ns
    return min(facts.io_stall_ns, run.wall_time_ns - computed)


#: Figures of which the rules ask what is usual.
_SEEN: dict[str, Callable[[PhaseFacts, DisturbanceFacts], float | None]] = {
    "switches": lambda run, _: run.involuntary_switches,
    "interrupts": lambda _, facts: facts.interrupt_time_ns,
    "memory": lambda _, facts: facts.memory_stall_ns,
    "io": _bound_io_stall,
    "swapped": lambda _, facts: facts.swapped_pages,
    "disk": lambda _, facts: facts.disk_bytes,
    "frequency": lambda _, facts: facts.highest_frequency_khz,
}


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the rules look at: the measured phase, what else went on, and what is usual for like trials.

    `usual` has, by name of a figure, its median in each group of like trials.
    """

    run: PhaseFacts
    facts: DisturbanceFacts
    quiet: QuietFacts | None
    usual: Mapping[str, tuple[float, ...]]

    def exceeds_usual(self, name: str, value: float | None, *, factor: float, least: float) -> bool:
        """Tell whether a value is more than `factor` times the usual one, and by more than `least`.

        So it must be in every group of like trials; where there is none, nothing is usual.
        """
        if value is None or not self.usual.get(name):
            return False
        return value > factor * self.most_usual(name) and value - self.most_usual(name) > least

    def most_usual(self, name: str) -> float:
        """Return the largest of the usual values, 0 when there is none."""
        return max(self.usual.get(name, ()), default=0.0)


@dataclass(frozen=True, slots=True)
class DoubtRule:
    """A stated rule: its name, what it says, and a function that tells what was seen, or nothing."""

    name: str
    statement: str
    see: Callable[[_Trial], str]


def spell_processes(busiest: Sequence[ProcessUse], most: int = 5) -> str:
    """Return processes with what they used, "stress 1.20 s, cron 0.01 s"; semicolons and line ends go."""
    return ", ".join(
        f"{_tidy_name(used.name)} {format_fixed(used.processor_time_ns / 1e9, 2)} s"
        for used in busiest[:most]
    )


def _tidy_name(name: str) -> str:
    """A process names itself as it likes; a semicolon stands between the doubts about a trial."""
    return "".join(letter if letter.isprintable() and letter not in ";,:" else "?" for letter in name)


def _see_no_quiet(trial: _Trial) -> str:
    facts = trial.quiet
    if facts is None or facts.quiet:
        return ""
    last, rule = facts.last, facts.rule
    seen = (
        (last.processors, rule.processors, "{} processors busy"),
        (last.cpu_pressure, rule.pressure, "tasks waiting for a processor in {}% of the time"),
        (last.memory_pressure, rule.pressure, "tasks waiting for memory in {}% of the time"),
        (last.io_pressure, rule.pressure, "tasks waiting for input and output in {}% of the time"),
        (last.disk, rule.disk, "a disk at work in {}% of the time"),
    )
    over = [
        words.format(format_fixed(value, 2) if words.startswith("{} p") else format_fixed(100 * value, 0))
        for value, most, words in seen
        if value is not None and value > most
    ]
    told = " and ".join(over[:2]) or "and nothing told whether it was"
    busiest = f" ({spell_processes(facts.busiest, 2)})" if facts.busiest else ""
    return f"the machine was not quiet after {format_fixed(facts.waited_ns / 1e9, 0)} s, {told}{busiest}"


def _see_steal(trial: _Trial) -> str:
    stolen = trial.facts.steal_time_ns or 0
    if stolen <= max(0.01 * trial.run.wall_time_ns, _TICK_NS):
        return ""
    return f"the hypervisor took {format_fixed(stolen / 1e6, 0)} ms of processor time"


def _see_others(trial: _Trial) -> str:
    # Kernels differ in whether serving the trial's own network traffic counts as the trial's time.
    other = (trial.facts.other_time_ns or 0) - (trial.facts.interrupt_time_ns or 0)
    if other <= max(0.05 * trial.run.wall_time_ns, 3 * _TICK_NS):
        return ""
    busiest = f" ({spell_processes(trial.facts.busiest, 2)})" if trial.facts.busiest else ""
    return f"other processes and the kernel used {format_fixed(other / 1e6, 0)} ms of processor time{busiest}"


def _see_interrupts(trial: _Trial) -> str:
    served = trial.facts.interrupt_time_ns
    least = max(0.02 * trial.run.wall_time_ns, 3 * _TICK_NS)
    if not trial.exceeds_usual("interrupts", served, factor=2, least=least):
        return ""
    usual = trial.most_usual("interrupts")
    return (
        f"{format_fixed((served or 0) / 1e6, 0)} ms of processor time in interrupts, where "
        f"{format_fixed(usual / 1e6, 0)} ms are usual"
    )


def _see_switches(trial: _Trial) -> str:
    switches = trial.run.involuntary_switches
    if not trial.exceeds_usual("switches", switches, factor=3, least=20):
        return ""
    return (
        f"{switches} involuntary context switches, where {format_fixed(trial.most_usual('switches'), 0)} "
        "are usual"
    )


def _see_stall(name: str, words: str) -> Callable[[_Trial], str]:
    def see(trial: _Trial) -> str:
        stall = _SEEN[name](trial.run, trial.facts)
        least = max(0.02 * trial.run.wall_time_ns, _TICK_NS)
        if not trial.exceeds_usual(name, stall, factor=2, least=least):
            return ""
        return f"{format_fixed((stall or 0) / 1e6, 0)} ms of waiting for {words}"

    return see


def _see_swapping(trial: _Trial) -> str:
    pages = trial.facts.swapped_pages or 0
    # A package that swaps in every trial, where the experiment has it so, is not disturbed by that.
    return f"{pages} pages were swapped" if pages > 2 * trial.most_usual("swapped") else ""


def _see_disk_traffic(trial: _Trial) -> str:
    moved = trial.facts.disk_bytes
    least = _DISK_BYTES_PER_S * max(trial.run.wall_time_ns / 1e9, 1.0)
    computed = trial.run.user_time_ns + trial.run.system_time_ns
    if 0 <= trial.run.wall_time_ns - computed <= 0.02 * trial.run.wall_time_ns:
        return ""  # It waited for nobody.
    if not trial.exceeds_usual("disk", moved, factor=2, least=least):
        return ""
    return (
        f"{format_fixed((moved or 0) / 1e6, 0)} MB were read from and written to disks, where "
        f"{format_fixed(trial.most_usual('disk') / 1e6, 0)} MB are usual"
    )


def _see_throttling(trial: _Trial) -> str:
    events = trial.facts.throttle_events or 0
    return f"a processor was throttled {events} times for heat" if events else ""


def _see_frequency(trial: _Trial) -> str:
    frequency, medians = trial.facts.highest_frequency_khz, trial.usual.get("frequency", ())
    if frequency is None or not medians:
        return ""
    usual = min(medians, key=lambda median: abs(frequency - median))
    if abs(frequency - usual) <= 0.05 * usual:
        return ""
    return (
        f"the processors ran at {format_fixed(frequency / 1e6, 2)} GHz, where "
        f"{format_fixed(usual / 1e6, 2)} GHz is usual"
    )


def _see_clock(trial: _Trial) -> str:
    jump = trial.facts.clock_jump_ns or 0
    # Adjusting a clock slowly changes its rate by up to 500 parts in a million.
    if abs(jump) <= 1_000_000 + 0.0005 * trial.facts.span_ns:
        return ""
    return f"the wall clock jumped by {format_fixed(jump / 1e6, 1)} ms"


def _see_suspension(trial: _Trial) -> str:
    suspended = trial.facts.suspended_ns or 0
    return (
        f"the machine was suspended for {format_fixed(suspended / 1e9, 1)} s" if suspended > 1_000_000 else ""
    )


def _see_kernel_lines(trial: _Trial) -> str:
    lines = [line for line in trial.facts.kernel_lines if not line.startswith(_HARMLESS_LINES)]
    # A semicolon stands between the doubts about a trial in the table of results.
    return f"the kernel warned: {lines[0].replace(';', ',')}" if lines else ""


RULES = (
    DoubtRule("not quiet", "the machine was not quiet when the limit of waiting was reached", _see_no_quiet),
    DoubtRule("steal", "the hypervisor took more than 1% of the wall time (and more than 10 ms)", _see_steal),
    DoubtRule(
        "other processes",
        "other processes, and threads of the kernel also where they work for the trial (writing to disks), "
        "used more than 5% of the wall time (and 30 ms), interrupts not counted",
        _see_others,
    ),
    DoubtRule(
        "interrupts",
        "more than twice the time in interrupts of like trials, by 2% of the wall time (and 30 ms)",
        _see_interrupts,
    ),
    DoubtRule(
        "preemption",
        "more than 3 times the involuntary switches that are usual for like trials (and 20 more)",
        _see_switches,
    ),
    DoubtRule(
        "memory pressure",
        "waiting for memory more than twice as long as like trials, by 2% of the wall time (and 10 ms)",
        _see_stall("memory", "memory"),
    ),
    DoubtRule(
        "i/o pressure",
        "waiting for input and output, and not computing meanwhile, more than twice as long as like trials, "
        "by 2% of the wall time (and 10 ms)",
        _see_stall("io", "input and output"),
    ),
    DoubtRule(
        "disk traffic",
        "disks read and wrote more than twice as much as with like trials, by 16 MB a second (and 16 MB), "
        "and the trial did not compute all the time",
        _see_disk_traffic,
    ),
    DoubtRule(
        "swapping",
        "pages were swapped in or out, more than twice as many as is usual for like trials",
        _see_swapping,
    ),
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

    Like trials are the completed ones at the same levels of the same package on the same machine. Where these
    are fewer than five, as when levels are drawn for each trial, they are those that share one level, for
    each level that five share: what a level brings about by itself is then usual in one of the groups, and
    raises no doubt. `RULES` states the rules.
    """
    judged = [item for item in map(_select, records) if item is not None]
    medians = _find_medians(judged, lambda record: [_name_point(record)])
    if any(_name_point(item.record) not in medians for item in judged):
        medians |= _find_medians(judged, _list_shared_levels)
    doubts: dict[tuple[str, int], tuple[Doubt, ...]] = {}
    for item in judged:
        point = _name_point(item.record)
        groups = [point] if point in medians else _list_shared_levels(item.record)
        found = [medians[group] for group in groups if group in medians]
        usual = {name: tuple(group[name] for group in found if name in group) for name in _SEEN}
        trial = _Trial(item.run, item.facts, item.record.quiet, usual)
        broken = tuple(Doubt(rule.name, seen) for rule in RULES if (seen := rule.see(trial)))
        if broken:
            doubts[item.record.trial_id, item.record.attempt] = broken
    return doubts


class _Judged(NamedTuple):
    """A completed attempt that has what is judged."""

    record: TrialRecord
    run: PhaseFacts
    facts: DisturbanceFacts


def _select(record: TrialRecord) -> _Judged | None:
    if record.outcome != "completed" or record.run is None or record.disturbance is None:
        return None
    return _Judged(record, record.run, record.disturbance)


def _name_point(record: TrialRecord) -> tuple[str, ...]:
    levels = (f"{name}={level}" for name, level in sorted(record.levels.items()))
    return (record.package, *_name_machine(record), *levels)


def _name_machine(record: TrialRecord) -> tuple[str, ...]:
    """What tells machines apart: hosts of a fleet may have one name, and yet be unlike."""
    return (record.worker.id, record.host.arch, record.host.cpu_model)


def _list_shared_levels(record: TrialRecord) -> list[tuple[str, ...]]:
    """Return for each level of a trial the group of those that have it; never the name of a point."""
    machine = _name_machine(record)
    return [(record.package, "", *machine, f"{name}={level}") for name, level in record.levels.items()]


def _find_medians(
    judged: Sequence[_Judged], list_groups: Callable[[TrialRecord], list[tuple[str, ...]]]
) -> dict[tuple[str, ...], dict[str, float]]:
    """Return the median of each figure in the groups that have enough trials."""
    groups: dict[tuple[str, ...], list[_Judged]] = defaultdict(list)
    for item in judged:
        for group in list_groups(item.record):
            groups[group].append(item)
    medians: dict[tuple[str, ...], dict[str, float]] = {}
    for group, items in groups.items():
        if len(items) < _FEWEST_LIKE:
            continue
        values = {name: [see(item.run, item.facts) for item in items] for name, see in _SEEN.items()}
        told = {name: [value for value in column if value is not None] for name, column in values.items()}
        medians[group] = {
            name: median(column) for name, column in told.items() if len(column) >= _FEWEST_LIKE
        }
    return medians
