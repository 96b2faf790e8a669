"""Where requests of native programs were made: offsets in files, and the lines that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from datamill.allocators.trace import Frame

#: Stands for a line that has to be found (`crates/trace/src/native/place.rs`).
TO_BE_FOUND = 0xFFFF_FFFF
#: Files that a program takes its parts from: a line in them says little about the program.
_NOT_THE_PROGRAM = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/", "/.cargo/registry/")


@dataclass(frozen=True, slots=True)
class NativePlace:
    """A return address: a program or library, and the offset in it as its file counts."""

    file: str
    offset: int


#: Lines of a place: that of the function that was called in, then of those that it was inlined into.
LinesOfPlaces = Mapping[NativePlace, Sequence[Frame]]


def find_place(frame: Frame) -> NativePlace | None:
    """Return the place that a row of the ledger stands for; None where the row is a line."""
    return NativePlace(frame.file, int(frame.function, 16)) if frame.line == TO_BE_FOUND else None


def choose_line(place: NativePlace, lines: LinesOfPlaces) -> Frame:
    """Return the line of a place: the innermost one that is no system header's, where there is one."""
    found = list_lines(place, lines)
    own = (frame for frame in found if not any(part in frame.file for part in _NOT_THE_PROGRAM))
    return next(own, found[0])


def list_lines(place: NativePlace, lines: LinesOfPlaces) -> Sequence[Frame]:
    """Return all lines of a place, innermost first; at least one."""
    return lines.get(place) or [Frame(place.file, 0, f"{place.offset:#x}")]


def list_places(frames: Iterable[Frame]) -> list[NativePlace]:
    """Return the places among rows of the ledger."""
    return [place for place in map(find_place, frames) if place is not None]
