"""`design.json` of an experiment, a trial at a time: as a file, or as the digest that seals the plan."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class DesignPieces:
    """Writes `design.json` in pieces, always the same bytes for the same plan.

    Args:
        write: takes each piece: that of a file, or of a digest.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._between = b""
        write(b'{"trials":[')

    def add(self, plan: bytes) -> None:
        """Write a trial of the design, given as JSON."""
        self._write(self._between)
        self._write(plan)
        self._between = b","

    def end(self, design: bytes) -> None:
        """Write what the design has besides its trials, given as JSON."""
        rest = msgspec.json.decode(design)
        rest.pop("trials", None)
        self._write(b"]," + msgspec.json.encode(rest).removeprefix(b"{"))
