"""A figure: one chart, interactive on a page and the same as SVG or PNG in print."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vl_convert

from datamill.experiment.errors import InputError

#: Endings of files that a figure can be written to.
FIGURE_SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")


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


def render_svg(figure: Figure) -> str:
    """Draw a figure as SVG."""
    return str(vl_convert.vegalite_to_svg(figure.chart))


def write_figure(figure: Figure, file: Path) -> None:
    """Write a figure to a file: .svg, .png, .pdf, .html (interactive, needs no network) or .json.

    Raises:
        InputError: the file has another ending.
    """
    suffix = file.suffix.lower()
    if suffix == ".svg":
        file.write_text(render_svg(figure), encoding="utf-8")
    elif suffix == ".png":
        file.write_bytes(vl_convert.vegalite_to_png(figure.chart, scale=2))
    elif suffix == ".pdf":
        file.write_bytes(vl_convert.vegalite_to_pdf(figure.chart))
    elif suffix == ".html":
        file.write_text(vl_convert.vegalite_to_html(figure.chart, bundle=True), encoding="utf-8")
    elif suffix == ".json":
        file.write_text(json.dumps(figure.chart, indent=1), encoding="utf-8")
    else:
        raise InputError(
            f'a figure cannot be written as "{file.suffix}"',
            where=str(file),
            remedy=f"End the name in one of {', '.join(FIGURE_SUFFIXES)}.",
        )
