"""Figures as a page shows them: a still SVG, and the chart that takes its place where scripts run."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from datamill.late import vl_convert
from datamill.report.figures.figure import Figure, dress_chart

#: One thread: the process that draws takes one figure at a time.
_DRAWER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="figures")
_NAMES = re.compile(r'\bid="|url\(["\']?#|xlink:href="#')
_TAG = re.compile(r"<[^>]*>")
_LONG_DECIMALS = re.compile(r"(\.\d\d)\d+")
#: What says nothing where the whole figure is described in words.
_IDLE = re.compile(r' (?:aria-hidden="true"|pointer-events="none"|aria-roledescription="[^"]*")')


#: Marks without words, which Vega calls pictures and hides; what is not hidden must not be one either.
_WORDLESS = re.compile(r' role="graphics-symbol"(?![^>]*aria-label)')


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure ready for a page: `svg` is markup, `chart` JSON that is safe inside a script element."""

    name: str
    title: str
    caption: str
    svg: str
    chart: str


@functools.cache
def start_drawing() -> subprocess.Popen[str] | None:
    """Start the process that draws, once; None where there is no interpreter to start."""
    if not sys.executable:
        return None
    return subprocess.Popen(
        [sys.executable, "-m", "datamill.report.figures.drawer", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        # Ctrl-C and the end of the terminal are for the command, which then ends this process.
        start_new_session=True,
    )


def start_view(figure: Figure) -> Future[FigureView]:
    """Draw a figure in the background; drawings come in the order in which they were asked for."""
    return _DRAWER.submit(_view_figure, figure)


def _view_figure(figure: Figure) -> FigureView:
    chart = _write_json(dress_chart(figure, "transparent"))
    svg = _shrink(_draw(chart))
    # Figures on one page must not use each other's clips and gradients.
    prefix = re.sub(r"[^A-Za-z0-9_-]+", "-", figure.name)
    svg = _NAMES.sub(lambda found: f"{found.group()}{prefix}-", svg)
    return FigureView(figure.name, figure.title, figure.caption, svg, _escape_json(chart))


def _write_json(chart: Any) -> str:
    try:
        return json.dumps(chart, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return _write_json(_drop_unbounded(chart))


def _drop_unbounded(part: Any) -> Any:
    """JSON has no infinity: bounds that do not exist are null, and are not drawn."""
    if isinstance(part, dict):
        return {key: _drop_unbounded(item) for key, item in part.items()}
    if isinstance(part, list | tuple):
        return [_drop_unbounded(item) for item in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def _draw(chart: str) -> str:
    """Let the process draw; here, where there is none or it was killed."""
    process = start_drawing()
    if process is None or process.stdin is None or process.stdout is None:
        return str(vl_convert.vegalite_to_svg(chart))
    try:
        process.stdin.write(chart + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        return str(vl_convert.vegalite_to_svg(chart))
    answer = json.loads(line)
    if "error" in answer:
        raise ValueError(answer["error"])
    return str(answer["svg"])


def _shrink(svg: str) -> str:
    """Leave out what cannot be seen: hundredths of a pixel are enough."""
    return _TAG.sub(lambda tag: _WORDLESS.sub("", _IDLE.sub("", _LONG_DECIMALS.sub(r"\1", tag.group()))), svg)


def _escape_json(text: str) -> str:
    """Nothing in a label may end the script element or begin a comment in it."""
    for mark, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(mark, escape)
    return text
