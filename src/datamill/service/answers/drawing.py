"""Figures drawn for pages of the coordinator, by a process that stands back."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from pathlib import Path

from datamill.report.figures.figure import Figure
from datamill.report.figures.views import FigureView, start_drawing, start_view
from datamill.service.bounded_work.child import NICENESS_OF_SESSION


def draw_views(figures: Sequence[Figure]) -> tuple[FigureView, ...]:
    """Return figures as pages show them, in their order."""
    hold_drawing_back()
    started = [start_view(figure) for figure in figures]
    return tuple(view.result() for view in started)


@functools.cache
def hold_drawing_back() -> None:
    """Start the process that draws, and have its session stand back for those of the broker and of trials."""
    process = start_drawing()
    if process is not None:
        with contextlib.suppress(OSError):
            Path(f"/proc/{process.pid}/autogroup").write_text(str(NICENESS_OF_SESSION), encoding="ascii")
