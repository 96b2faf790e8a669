"""The events in the pages of all processors, in the order of their times."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from datamill.allocators.kernel.formats import EventFormat
from datamill.allocators.kernel.pages import list_records

#: What all records begin with: number, flags, depth of preemption, thread.
_COMMON = struct.Struct("<HBBi")
_HARD_IRQ, _SOFT_IRQ = 0x08, 0x10
_WORDS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class KernelEvent(NamedTuple):
    """An event: when (ns), on which processor, its name, its thread, whether in an interrupt; its record."""

    time: int
    processor: int
    name: str
    thread: int
    interrupted: bool
    page: bytes
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class EventReader:
    """Reads events and their fields.

    Args:
        formats: descriptions of events, by their numbers.
    """

    formats: Mapping[int, EventFormat]

    def list_events(self, pages: Sequence[Iterable[bytes]]) -> Iterator[KernelEvent]:
        """Yield all events of known kinds, by time; `pages` are those of each processor, in their order."""
        streams = [self._list_own(processor, own) for processor, own in enumerate(pages)]
        return heapq.merge(*streams, key=lambda event: event.time)

    def _list_own(self, processor: int, pages: Iterable[bytes]) -> Iterator[KernelEvent]:
        formats = self.formats
        for page in pages:
            for time, at in list_records(page):
                number, flags, _, thread = _COMMON.unpack_from(page, at)
                known = formats.get(number)
                if known is not None:
                    yield KernelEvent(
                        time, processor, known.name, thread, bool(flags & (_HARD_IRQ | _SOFT_IRQ)), page, at
                    )


class FieldReader:
    """Takes one number out of the records of one kind of event.

    Raises:
        KeyError: records have no such field.
    """

    __slots__ = ("_offset", "_struct")

    def __init__(self, form: EventFormat, field: str, *, signed: bool = False) -> None:
        offset, size = form.fields[field]
        word = _WORDS[size]
        self._offset, self._struct = offset, struct.Struct("<" + (word.lower() if signed else word))

    def read(self, event: KernelEvent) -> int:
        """Return the number."""
        value: int = self._struct.unpack_from(event.page, event.at + self._offset)[0]
        return value


def read_text(form: EventFormat, field: str, event: KernelEvent) -> str:
    """Return a text of fixed room in a record, up to its end."""
    offset, size = form.fields[field]
    begin = event.at + offset
    return event.page[begin : begin + size].partition(b"\0")[0].decode(errors="replace")


def read_addresses(form: EventFormat, event: KernelEvent) -> tuple[int, ...]:
    """Return the addresses in a record of a stack, innermost first."""
    count = FieldReader(form, "size").read(event)
    begin = event.at + form.fields["caller"][0]
    count = min(count, (len(event.page) - begin) // 8)
    return struct.unpack_from(f"<{count}Q", event.page, begin)
