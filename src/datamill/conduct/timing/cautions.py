"""What limits an answer about timed commands, found before anything counts and when all is done."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

from datamill.conduct.timing.question import FEWEST_WITH_INTERVAL, PEAK_MEMORY, TimingQuestion
from datamill.conduct.timing.warm_up import SHORT_S, WarmUp
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_count, format_figures, format_share
from datamill.experiment.quantities import format_duration, format_size
from datamill.protocol.trial import DisturbanceFacts, PhaseFacts, TrialRecord

#: Other programs per processor that wait or run, from which times are those of a busy machine.
_BUSY = 0.5
#: How often programs that run are counted, and the time between.
_LOOKS, _LOOK_S = 10, 0.005
#: Processes that run, and those that wait for disks.
_PROCESSES, _KINDS = re.compile(r"^procs_(?:running|blocked) (\d+)$", re.MULTILINE), 2
#: A round this long leaves few of them.
_LONG_S = 60.0
#: Share of the time named by which it is overrun before that is told, and room over what is foreseen.
_OVERRUN, _ROOM = 0.05, 1.5
#: Share of the processors' time that others took while commands were measured, from which that is told.
_TAKEN = 0.05
#: A tick of the kernel's clocks, and standard deviations of their number that are no more than chance.
_TICK_NS, _CHANCE = 10_000_000, 3
#: Short commands that are named, and commands with the size of their output.
_SHOWN, _COMPARED = 3, 4
#: Output from which reading it takes time that matters.
_MUCH_OUTPUT = 16 << 20
#: Two clocks that are read one after the other differ by less than this where nothing was suspended.
_SUSPENDED_NS = 1_000_000


def list_cautions(question: TimingQuestion, warm: WarmUp) -> tuple[str, ...]:
    """Return what is known before anything counts, a sentence each without its full stop."""
    load = find_load()
    return (
        *look_at_machine(load),
        # It shows what began too late for the load of the last minute.
        *(() if load else _look_at_others(warm)),
        *_compare_outputs(question, warm),
        *_look_at_sizes(question, warm),
        *_look_at_times(question, warm),
        *look_at_number(question, question.most_rounds),
    )


def check_time(question: TimingQuestion, warm: WarmUp, elapsed_s: float) -> None:
    """Refuse commands of which the time allowed does not even hold one execution, once that is known.

    Raises:
        InputError: when warming up took all of the time, with how much is needed.
    """
    if not question.within_s or not warm.round_s or elapsed_s < question.within_s:
        return
    whole_s = elapsed_s + FEWEST_WITH_INTERVAL * warm.round_s[-1]
    what = question.commands[0].label if len(question.commands) == 1 else "one execution of each command"
    raise InputError(
        f"{what} takes {format_duration(warm.round_s[0])}: after {format_duration(elapsed_s)}, "
        f"{format_duration(elapsed_s - question.within_s)} more than were allowed, there is no result",
        remedy=f"Allow {format_duration(_ROOM * whole_s)} or more with {argument('within', verb='time')}.",
    )


def find_bounded(question: TimingQuestion, records: Sequence[TrialRecord]) -> frozenset[str]:
    """Return the names of commands whose peak memory is known only as an upper bound.

    A process begins with the memory of what started it, and its peak is never less than that.
    """
    if question.response.formula != PEAK_MEMORY:
        return frozenset()
    return frozenset(
        record.package
        for record in records
        if record.run is not None and record.run.peak_memory_bytes <= record.run.peak_memory_floor_bytes
    )


def look_at_number(
    question: TimingQuestion, rounds: int | None, *, round_s: float = 0.0, measured_s: float = 0.0
) -> tuple[str, ...]:
    """Return that so many rounds are too few to tell any commands apart, if they are; None: enough.

    Without the full stop. `round_s` is the time of a round, by which it tells how long enough of them take,
    and `measured_s` that of all so far; 0 where that is not known yet.
    """
    if len(question.commands) < 2 or rounds is None:
        return ()
    # Imported late: statistics take a while to load, which the first execution need not wait for.
    from datamill.analysis.sequential.pairs import FEWEST_MEAN_ROUNDS, count_fewest_rounds

    fewest = count_fewest_rounds(len(question.commands), question.alpha)
    if question.builds is not None and question.builds.executions > 1:
        # Means of several executions are compared from here on.
        fewest = min(fewest, FEWEST_MEAN_ROUNDS)
    if rounds >= fewest:
        return ()
    what, which = ("executions", "commands") if question.builds is None else ("builds", "revisions")
    return (
        f"{format_count(rounds)} {what} of each are too few to tell {which} apart, however much they differ: "
        f"that takes {fewest}{_spell_time(measured_s + (fewest - rounds) * round_s) if round_s else ''}",
    )


def _spell_time(time_s: float) -> str:
    within = tell(argument("within", verb="time"))
    return f", about {format_duration(time_s)} in all: allow that or more with {within}"


def _look_at_memory(question: TimingQuestion, records: Sequence[TrialRecord]) -> list[str]:
    bounded = find_bounded(question, records)
    floors = [
        record.run.peak_memory_floor_bytes
        for record in records
        if record.run is not None and record.package in bounded
    ]
    names = [command.label for command in question.commands if command.name in bounded]
    if not names:
        return []
    return [
        f"{question.response.name} of {' and '.join(names)} is known only as an upper bound: any program "
        f"begins with the {format_size(max(floors))} of what starts it"
    ]


def list_overruns(question: TimingQuestion, rounds: int, measured_s: float) -> tuple[str, ...]:
    """Return by how much the time that somebody named was overrun, if it was; without the full stop."""
    over_s = measured_s - question.within_s
    if not question.within_s or over_s < _OVERRUN * question.within_s:
        return ()
    what = "executions of each command" if question.builds is None else "builds of each revision"
    why = (
        f"warming up, getting ready and {FEWEST_WITH_INTERVAL} {what}, the fewest that have an interval, "
        "take that long"
        if rounds <= FEWEST_WITH_INTERVAL
        else "the last executions took longer than those before them"
    )
    allowed = format_duration(question.within_s)
    return (f"it took {format_duration(over_s)} more than the {allowed} allowed: {why}",)


def list_limits(question: TimingQuestion, records: Sequence[TrialRecord]) -> tuple[str, ...]:
    """Return what the executions themselves showed, a sentence each without its full stop."""
    return (
        *_list_failures(question, records),
        *_list_leftovers(question, records),
        *_look_at_memory(question, records),
        *_look_at_disturbance(records),
        *_look_at_clock(records),
    )


def find_load() -> float:
    """Return how many other programs run or wait, 0 where they are too few to disturb.

    The mean of the last minute knows of a build that has just ended, and what runs now knows of what has just
    begun: the machine is as busy as both say.
    """
    load = os.getloadavg()[0]
    fewest = _BUSY * len(os.sched_getaffinity(0))
    if load < fewest:
        return 0.0
    seen = []
    for _ in range(_LOOKS):
        time.sleep(_LOOK_S)
        found = _PROCESSES.findall(_read(Path("/proc/stat")))
        if len(found) < _KINDS:
            # Some sandboxes do not tell: then the last minute is all that is known.
            return load
        # This process is one of those that run.
        seen.append(sum(map(int, found)) - 1)
    load = min(load, sum(seen) / len(seen))
    return load if load >= fewest else 0.0


def look_at_machine(load: float) -> list[str]:
    """Return what of this machine disturbs measuring before it begins, a sentence each.

    `load` is that of `find_load`.
    """
    cautions = []
    if load:
        processors = len(os.sched_getaffinity(0))
        cautions.append(
            f"this machine is busy: a load of {format_figures(load, 2)} on {processors} processors before "
            "timing began"
        )
    supplies = list(Path("/sys/class/power_supply").glob("*/online"))
    if supplies and not any(_read(supply) == "1" for supply in supplies):
        cautions.append("this machine runs on its battery, which may slow its processors: plug it in")
    return cautions


def _look_at_others(warm: WarmUp) -> list[str]:
    """What runs beside the commands while they warm up."""
    answers = [execution.answer for own in warm.executions.values() for execution in own]
    share = _find_share_of_others([(answer.run, answer.disturbance) for answer in answers])
    if not share:
        return []
    return [
        f"this machine is busy: other programs used {format_share(share)} of the processors' time while the "
        "commands warmed up"
    ]


def _compare_outputs(question: TimingQuestion, warm: WarmUp) -> list[str]:
    if len(question.commands) < 2 or len(warm.outputs) < len(question.commands):
        return []
    if any(len(digests) > 1 for digests in warm.outputs.values()):
        # What differs from one execution to the next cannot be compared.
        return []
    if len(set.union(*warm.outputs.values())) == 1:
        return []
    bytes_of = {command.label: warm.find_output_bytes(command) for command in question.commands}
    shown = list(bytes_of.items())
    if len(shown) > _COMPARED:
        # One of each size says how they differ.
        shown = list({size: (label, size) for label, size in reversed(shown)}.values())[::-1][:_COMPARED]
    sizes = ", ".join(f"{label}: {format_count(size)} B" for label, size in shown)
    sizes += ", …" if len(shown) < len(bytes_of) else ""
    if len(set(bytes_of.values())) == 1:
        sizes = f"each {format_count(next(iter(bytes_of.values())))} B, but not the same ones"
    return [f"the commands do not write the same output ({sizes}): make sure that they do the same work"]


def _look_at_sizes(question: TimingQuestion, warm: WarmUp) -> list[str]:
    return [
        f"{command.label} writes {format_size(warm.find_output_bytes(command))}, which is read through a "
        "pipe, and that takes time"
        for command in question.commands
        if question.find_redirection(command).output == "capture"
        and warm.find_output_bytes(command) > _MUCH_OUTPUT
    ]


def _look_at_times(question: TimingQuestion, warm: WarmUp) -> list[str]:
    cautions = _look_at_starts(question, warm)
    needed_s = sum(warm.round_s) + FEWEST_WITH_INTERVAL * warm.round_s[-1] if warm.round_s else 0.0
    if question.within_s and question.builds is None and needed_s > (1 + _OVERRUN) * question.within_s:
        cautions.append(
            f"{format_duration(question.within_s)} are short: the fewest executions that have an interval, "
            f"{FEWEST_WITH_INTERVAL} of each command, end after about {format_duration(needed_s)}"
        )
    elif warm.round_s and warm.round_s[-1] > _LONG_S:
        cautions.append(
            f"one round takes {format_duration(warm.round_s[-1])}: Ctrl-C ends it with an answer from what "
            "was measured"
        )
    return cautions


def _look_at_starts(question: TimingQuestion, warm: WarmUp) -> list[str]:
    times = [(command, warm.find_time_s(command)) for command in question.commands]
    short = [(command, time_s) for command, time_s in times if time_s < SHORT_S]
    if not short or not warm.start_s:
        return []
    shell = " and its shell" if question.shell or any(command.in_shell for command, _ in short) else ""
    start_s = min(warm.start_s, *(time_s for _, time_s in short))
    shown = [f"{command.label} ({_spell_ms(time_s)})" for command, time_s in short[:_SHOWN]]
    more = [f"{len(short) - _SHOWN} more"] if len(short) > _SHOWN else []
    named = _join([*shown, *more])
    return [
        f"starting a process{shell} takes about {_spell_ms(start_s)}, a good part of {named}: differences "
        "are larger shares of the rest"
    ]


def _list_failures(question: TimingQuestion, records: Sequence[TrialRecord]) -> list[str]:
    limits = []
    for command in question.commands:
        own = [record for record in records if record.package == command.name]
        failed = [record for record in own if record.outcome != "completed"]
        if failed:
            told = failed[0].failure.message if failed[0].failure is not None else ""
            limits.append(
                f"{command.label} failed in {len(failed)} of {len(own)} executions, which take no part "
                f"(first: {told.rstrip('.')})"
            )
    return limits


def _list_leftovers(question: TimingQuestion, records: Sequence[TrialRecord]) -> list[str]:
    leaving = {record.package for record in records if record.run is not None and record.run.left_processes}
    return [
        f"{command.label} leaves processes running, which are ended after each execution: the next one "
        "starts without them"
        for command in question.commands
        if command.name in leaving
    ]


def _look_at_disturbance(records: Sequence[TrialRecord]) -> list[str]:
    facts = [record.disturbance for record in records if record.disturbance is not None]
    span = sum(item.span_ns for item in facts) * max(1, os.cpu_count() or 1)
    if not span:
        return []
    limits = []
    # Clocks of the kernel tick: of short executions the shares may come to more than all.
    steal = min(1.0, sum(item.steal_time_ns or 0 for item in facts) / span)
    other = _find_share_of_others([(record.run, record.disturbance) for record in records])
    if steal > _TAKEN:
        limits.append(
            f"the host of this virtual machine took {format_share(steal)} of its processors' time away"
        )
    if other > _TAKEN:
        limits.append(
            f"other programs used {format_share(other)} of the processors' time while commands were measured"
        )
    if any((item.suspended_ns or 0) > _SUSPENDED_NS for item in facts):
        limits.append("the machine was suspended in between")
    return limits


def _find_share_of_others(executions: Sequence[tuple[PhaseFacts | None, DisturbanceFacts | None]]) -> float:
    """Return the share of the processors' time that other programs used meanwhile; 0 where none is sure.

    The kernel counts in ticks: a short execution is busy for a whole one, or for none. So only sums tell, and
    only what is more than chance in the ticks of the executions themselves.
    """
    known = [(run, facts) for run, facts in executions if run is not None and facts is not None]
    whole_ns = sum(facts.span_ns for _, facts in known) * max(1, os.cpu_count() or 1)
    own_ns = sum(run.user_time_ns + run.system_time_ns for run, _ in known)
    other_ns = sum(facts.busy_time_ns or 0 for _, facts in known) - own_ns
    chance_ns = _CHANCE * sqrt(_TICK_NS * (own_ns + _TICK_NS))
    return min(1.0, other_ns / whole_ns) if other_ns > _TAKEN * whole_ns + chance_ns else 0.0


def _look_at_clock(records: Sequence[TrialRecord]) -> list[str]:
    throttled = sum(
        bool(record.disturbance is not None and record.disturbance.throttle_events) for record in records
    )
    return (
        [f"processors were throttled for heat in {throttled} of {len(records)} executions"]
        if throttled
        else []
    )


def _join(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _spell_ms(time_s: float) -> str:
    return f"{format_figures(1e3 * time_s, 2)} ms"


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
