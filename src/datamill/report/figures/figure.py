"""A figure: one chart, interactive on a page and the same as SVG or PNG in print."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from datamill.experiment.errors import InputError
from datamill.late import vl_convert
from datamill.report.words.short_names import apply_short_names, shorten_chart

#: Endings of files that a figure can be written to.
FIGURE_SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
#: The colour of the text around the figure, so that the same figure is legible on light and dark pages.
INK = "currentColor"
_THEME: dict[str, Any] = {
    # Thousands of marks need no name each: the caption says what they show.
    "aria": False,
    "axis": {
        "labelColor": INK, "titleColor": INK, "domainColor": INK, "tickColor": INK, "gridColor": INK,
        "gridOpacity": 0.13, "domainOpacity": 0.5, "tickOpacity": 0.5, "titleFontWeight": "normal",
        "labelFontSize": 12, "titleFontSize": 13, "titlePadding": 10, "labelOverlap": "greedy",
        "labelSeparation": 4,
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 13},
    "legend": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal", "labelLimit": 240,
               "titleLimit": 480, "labelFontSize": 12, "titleFontSize": 12},
    "title": {"color": INK, "subtitleColor": INK, "fontSize": 14, "subtitleFontSize": 12,
              "subtitleLineHeight": 16, "subtitlePadding": 5, "offset": 12, "anchor": "start"},
    "text": {"color": INK, "fontSize": 12},
    "view": {"stroke": INK, "strokeOpacity": 0.18},
    "font": "Helvetica Neue, Helvetica, Arial, sans-serif",
}  # fmt: skip


#: Letters in a line of a caption above a chart: at least, at most; pixels of one.
_SHORTEST_LINE, _LONGEST_LINE, _LETTER = 62, 110, 6.2
#: Pixels around a chart, and for each letter of a label left of it: where the reader's letters are wider than
#: those that the still drawing was measured with, the label would begin outside.
_PADDING, _SPARE_PER_LETTER = 5, 0.9


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart in Vega-Lite's grammar with what a reader needs.

    `name` is short and unique on a page (`effects-by-quantile`); `title` says what is drawn and
    `caption` in plain words what to see in it; `chart` is the specification (Altair's `to_dict()`).
    """

    name: str
    title: str
    caption: str
    chart: dict[str, Any]


def leave_room(labels: Sequence[str]) -> dict[str, float]:
    """Padding for a chart with these labels on its left."""
    shown = [apply_short_names(label) for label in labels]
    spare = round(_SPARE_PER_LETTER * max(map(len, shown), default=0))
    return {"left": _PADDING + spare, "right": _PADDING, "top": _PADDING, "bottom": _PADDING}


def shorten_figure(figure: Figure) -> Figure:
    """The figure with the long names that are in use shortened."""
    return Figure(
        figure.name,
        apply_short_names(figure.title),
        apply_short_names(figure.caption),
        shorten_chart(figure.chart),
    )


def title_chart(figure: Figure) -> Figure:
    """The figure with its title and caption in the chart itself, for a file that stands without a page."""
    said = f"{figure.caption[:1].upper()}{figure.caption[1:]}"
    title = {"text": figure.title, "subtitle": textwrap.wrap(said, _find_line(figure.chart))}
    return replace(figure, chart={"title": title, **figure.chart})


def _find_line(chart: Mapping[str, Any]) -> int:
    """Letters of a line of text above a chart of this width."""
    widths = [part.get("width") for part in (chart, *chart.get("hconcat", ()))]
    width = sum(item for item in widths if isinstance(item, (int, float)))
    return max(_SHORTEST_LINE, min(_LONGEST_LINE, round(width / _LETTER)))


def dress_chart(figure: Figure, background: str = "white") -> dict[str, Any]:
    """The chart with datamill's looks: where it says nothing else, text has the colour around it."""
    config = _merge(_THEME, figure.chart.get("config", {}))
    return {**figure.chart, "background": background, "config": config}


def _merge(usual: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**usual, **own}
    for key in usual.keys() & own.keys():
        if isinstance(usual[key], Mapping) and isinstance(own[key], Mapping):
            merged[key] = _merge(usual[key], own[key])
    return merged


def render_svg(figure: Figure, background: str = "white") -> str:
    """Draw a figure as SVG."""
    return str(vl_convert.vegalite_to_svg(dress_chart(figure, background)))


def write_figure(figure: Figure, file: Path) -> None:
    """Write a figure to a file: .svg, .png, .pdf, .html (interactive, needs no network) or .json.

    Raises:
        InputError: the file has another ending.
    """
    suffix = file.suffix.lower()
    chart = dress_chart(figure)
    if suffix == ".svg":
        file.write_text(render_svg(figure), encoding="utf-8")
    elif suffix == ".png":
        file.write_bytes(vl_convert.vegalite_to_png(chart, scale=2))
    elif suffix == ".pdf":
        file.write_bytes(vl_convert.vegalite_to_pdf(chart))
    elif suffix == ".html":
        file.write_text(vl_convert.vegalite_to_html(chart, bundle=True), encoding="utf-8")
    elif suffix == ".json":
        file.write_text(json.dumps(chart, indent=1), encoding="utf-8")
    else:
        refuse_suffix(file, FIGURE_SUFFIXES, "a figure")


def refuse_suffix(file: Path, suffixes: Sequence[str], what: str) -> None:
    """Raise InputError unless the file's name ends in one of the suffixes."""
    if file.suffix.lower() not in suffixes:
        raise InputError(
            f'{what} cannot be written as "{file.suffix}"',
            where=str(file),
            remedy=f"End the name in one of {', '.join(suffixes)}.",
        )
