"""The report of a trace: totals, then the lines of each event as in Listing 2.5 of the thesis."""

from __future__ import annotations

from collections.abc import Iterator

from datamill.allocators.events import EVENTS
from datamill.allocators.trace import AllocationTrace, TracedLine
from datamill.allocators.visibility import NOT_TIMED
from datamill.experiment.messages.numbers import format_count, format_fixed


def phrase_answer(trace: AllocationTrace) -> str:
    """Say in a sentence what was counted."""
    published = [event for event in EVENTS if event.published]
    counted = sum(trace.totals[event.name] for event in published)
    others = sum(trace.totals.values()) - counted
    forks = f" and {format_count(trace.forks)} forks of it" if trace.forks else ""
    if trace.program_count and not trace.interpreter_count:
        programs = _count(trace.program_count, "program")
        return f"{format_count(others)} events of the allocator in {programs}{forks}."
    where = _count(trace.interpreter_count, "interpreter")
    natives = f" and {_count(trace.program_count, 'native program')}" if trace.program_count else ""
    return (
        f"{format_count(counted)} binning events in {where}{natives}{forks}, "
        f"and {format_count(others)} other events of the allocator."
    )


def _count(number: int, thing: str) -> str:
    return f"{format_count(number)} {thing}{'' if number == 1 else 's'}"


def list_totals(trace: AllocationTrace) -> Iterator[str]:
    """Give the totals, a line for each event that happens in programs such as were traced."""
    events = [
        event
        for event in EVENTS
        if (event.interpreted and (trace.interpreter_count or not trace.program_count))
        or (event.native and trace.program_count)
    ]
    width = max(len(event.title) for event in events)
    counts = {event.name: format_count(trace.totals[event.name]) for event in events}
    digits = max(len(count) for count in counts.values())
    for event in events:
        yield f"  {event.title:<{width}}  {counts[event.name]:>{digits}}"


def list_lines(trace: AllocationTrace, *, most: int) -> Iterator[str]:
    """Give the lines of each event, most frequent first.

    Args:
        trace: what was found.
        most: lines that are given of each event.
    """
    for event in EVENTS:
        lines = [line for line in trace.lines if line.event == event.name]
        if not lines:
            continue
        yield ""
        yield f"{event.title}:"
        for line in lines[:most]:
            yield f"  {phrase_line(line, trace.totals[event.name])}"
        left = lines[most:]
        if left:
            count = sum(line.count for line in left)
            yield f"  in {_count(len(left), 'more line')}: {format_count(count)}"


def phrase_line(line: TracedLine, total: int) -> str:
    """Spell a line as Listing 2.5 of the thesis does."""
    share = 100 * line.count / total
    # A native program without debug information has no lines.
    place = f", line {line.line}" if line.line else ""
    return f'File "{line.file}"{place} in {line.function}: {line.count}, {format_fixed(share, 2)}%'


def list_limits(trace: AllocationTrace, *, with_latencies: bool = False) -> Iterator[str]:
    """Say what could not be seen; `with_latencies`, what they do not tell as well."""
    yield ""
    yield "Not visible:"
    for sentence in (*trace.not_visible, *(NOT_TIMED if with_latencies else ())):
        yield f"  {sentence}"
