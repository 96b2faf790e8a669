"""Lines of native programs, read from what the compiler wrote down in their files."""

from __future__ import annotations

import json
from collections.abc import Sequence

from datamill import _native
from datamill.allocators.native_places import LinesOfPlaces, NativePlace
from datamill.allocators.trace import Frame


def read_lines_of_places(places: Sequence[NativePlace]) -> LinesOfPlaces:
    """Find the lines of places.

    One without debug information gets the symbol before it and the distance, in its program or library, and
    the
    line 0; one whose file cannot be read is left out.
    """
    by_file: dict[str, list[int]] = {}
    for place in places:
        by_file.setdefault(place.file, []).append(place.offset)
    found: dict[NativePlace, list[Frame]] = {}
    for file, offsets in by_file.items():
        try:
            lines = json.loads(_native.read_places(file, offsets))
        except ValueError:
            continue
        for offset, own in zip(offsets, lines, strict=True):
            found[NativePlace(file, offset)] = [
                Frame(line["file"] or file, line["line"], line["function"]) for line in own
            ]
    return found
