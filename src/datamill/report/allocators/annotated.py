"""Source with the events of its lines beside it, and where memory could be asked for at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from datamill.allocators.events import EVENTS
from datamill.allocators.trace import AllocationTrace
from datamill.experiment.messages.numbers import format_count

#: Lines around one with events.
_AROUND = 2
#: Share of an event's total from which on a line gets a hint.
_NOTED = 0.05


@dataclass(frozen=True, slots=True)
class _Hint:
    """What could be done about an event in a line that looks like `pattern`."""

    event: str
    pattern: re.Pattern[str]
    text: str


#: The first that fits is given; each says what holds for CPython 3.11 to 3.14.
_HINTS = (
    _Hint(
        "list_resize",
        re.compile(r"\.append\s*\("),
        "where the length is known before, begin with [None] * n and assign by index: one request in all",
    ),
    _Hint(
        "list_resize",
        re.compile(r"\blist\s*\(|\.extend\s*\(|\*\w|\+="),
        "what has a length (list, tuple, range, dict) is taken in at once; an iterator makes the list grow",
    ),
    _Hint(
        "list_resize",
        re.compile(r"\[.*\bfor\b|\bfor\b.*\]"),
        "a comprehension grows as it goes; [None] * n, filled by index, does not",
    ),
    _Hint(
        "list_resize",
        re.compile(r"\.(pop|insert|remove|clear)\s*\(|\bdel\b"),
        "a list that shrinks below half gives its items another place: collections.deque does not",
    ),
    _Hint(
        "dict_resize",
        re.compile(r""),
        "dict.fromkeys(keys) of a dict or set makes the table at once, and so does a copy of a dict; a dict "
        "that is filled key by key grows",
    ),
    _Hint(
        "set_resize",
        re.compile(r""),
        "a copy of a set, or set(d) of a dict, makes the table at once; a set that is filled grows",
    ),
    _Hint(
        "str_resize",
        re.compile(r"\+="),
        'keep the parts in a list and make the text once: "".join(parts)',
    ),
    _Hint("bytes_resize", re.compile(r"\+="), "add to a bytearray, or join the parts once"),
)


def annotate_sources(
    trace: AllocationTrace, read: Callable[[str], Sequence[str] | None], *, most: int = 3
) -> Iterator[str]:
    """Give the files with most events, each line that has some with its counts and those around it.

    Args:
        trace: what was found.
        read: lines of a file by its name, None where it cannot be read.
        most: files that are given.
    """
    by_file: dict[str, int] = {}
    for line in trace.lines:
        by_file[line.file] = by_file.get(line.file, 0) + line.count
    for file in sorted(by_file, key=lambda name: -by_file[name])[:most]:
        source = read(file)
        yield ""
        if source is None:
            yield f"{file}: its source cannot be read"
            continue
        yield f"{file}: {format_count(by_file[file])} events"
        yield from _annotate(trace, file, source)
    left = len(by_file) - most
    if left > 0:
        yield ""
        yield f"{format_count(left)} more files have events."


def _annotate(trace: AllocationTrace, file: str, source: Sequence[str]) -> Iterator[str]:
    counts: dict[int, dict[str, int]] = {}
    for line in trace.lines:
        if line.file == file and 0 < line.line <= len(source):
            counts.setdefault(line.line, {}).setdefault(line.event, 0)
            counts[line.line][line.event] += line.count
    titles = {event.name: event.title for event in EVENTS}
    told = {
        number: ", ".join(f"{titles[name]} {format_count(count)}" for name, count in sorted(own.items()))
        for number, own in counts.items()
    }
    width = max((len(text) for text in told.values()), default=0)
    digits = len(str(len(source)))
    shown = sorted(
        {
            near
            for number in counts
            for near in range(number - _AROUND, number + _AROUND + 1)
            if 0 < near <= len(source)
        }
    )
    last = 0
    for number in shown:
        if last and number > last + 1:
            yield f"{'':>{width}}  {'':>{digits}} ..."
        last = number
        text = source[number - 1].rstrip()
        yield f"{told.get(number, ''):>{width}}  {number:>{digits}} | {text}".rstrip()
        for hint in _find_hints(trace, counts.get(number, {}), text):
            yield f"{'':>{width}}  {'':>{digits}} ^ {hint}"


def _find_hints(trace: AllocationTrace, own: dict[str, int], text: str) -> Iterator[str]:
    for event, count in own.items():
        if count < 2 or count < _NOTED * trace.totals[event]:
            continue
        fitting = (hint.text for hint in _HINTS if hint.event == event and hint.pattern.search(text))
        hint = next(fitting, None)
        if hint:
            yield hint
