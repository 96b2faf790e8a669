"""Files that readers of an experiment take home: figures, and the tidy table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal

from django.contrib.auth.models import User
from django.http import HttpResponse

from datamill.report.figures.figure import Figure, title_chart, write_figure
from datamill.report.figures.views import FigureView
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.models import FleetExperiment

FigureKind = Literal["svg", "png", "json"]
TableKind = Literal["csv", "parquet"]
FIGURE_TYPES: dict[FigureKind, str] = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json; charset=utf-8",
}
TABLE_TYPES: dict[TableKind, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
_WRITING = replace(ANSWERING, file_bytes=2 << 30)
#: What is opened by itself runs no script.
_STILL = "sandbox; default-src 'none'; style-src 'unsafe-inline'"


def send_figure(view: FigureView, kind: FigureKind, name: str) -> HttpResponse:
    """Answer with a figure as a file of this name, without its ending.

    Raises:
        GoneError: the client left.
        InputError: it takes more than the coordinator gives one.
    """
    response = HttpResponse(draw_file(view, kind), content_type=FIGURE_TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    response["Content-Security-Policy"] = _STILL
    return response


def send_page(page: str, name: str) -> HttpResponse:
    """Answer with a page as a file of this name."""
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Security-Policy"] = _STILL
    return response


def draw_file(view: FigureView, kind: FigureKind) -> bytes:
    """Return a figure with its title and caption as a file; `json` is its specification with all data.

    Raises:
        GoneError: the client left.
        InputError: it takes more than the coordinator gives one.
    """
    return call_bounded(_WRITING, write_drawing, view, kind)


def write_drawing(view: FigureView, kind: FigureKind) -> bytes:
    """Draw a figure for a file; runs in a process of its own."""
    figure = title_chart(Figure(view.name, view.title, view.caption, json.loads(view.chart)))
    with TemporaryDirectory(prefix="datamill-figure-") as folder:
        file = Path(folder) / f"figure.{kind}"
        write_figure(figure, file)
        return file.read_bytes()


def open_table(experiment: FleetExperiment, user: User, kind: TableKind) -> BinaryIO:
    """Return the tidy table of an experiment as an open file, which is gone when it is closed.

    Raises:
        BundleError: the database does not hold what it needs.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: it takes more than the coordinator gives one.
    """
    with taking_turn(user), TemporaryDirectory(prefix="datamill-table-") as folder:
        write_bundle(experiment, user, Path(folder))
        call_bounded(_WRITING, write_table, folder, kind)
        return (Path(folder) / f"table.{kind}").open("rb")


def write_table(folder: str, kind: TableKind) -> None:
    """Write the tidy table of a bundle into its folder; runs in a process of its own."""
    from datamill.results.bundles.opening import open_bundle
    from datamill.results.tables.csv_files.formula_cells import mark_cells

    bundle = open_bundle(Path(folder))
    table = bundle.build_table(bundle.read_records())
    file = Path(folder) / f"table.{kind}"
    if kind == "csv":
        mark_cells(table).write_csv(file)
    else:
        table.write_parquet(file)
