import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from datamill.experiment.errors import InputError
from datamill.report.figures import views as figure_views
from datamill.report.figures.charts import let_choose, let_zoom
from datamill.report.figures.drawer import serve_drawings
from datamill.report.figures.figure import Figure, dress_chart, write_figure
from datamill.report.page.analysis_page import Section, render_analysis_page

pytestmark = pytest.mark.usefixtures("drawings")

DOTS = Figure(
    "dots",
    "Dots",
    "",
    {
        "data": {"values": [{"a": 1.23456789, "b": "x"}, {"a": 2, "b": "<y>"}]},
        "mark": "point",
        "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}},
    },
)


def test_the_process_that_draws_answers_every_line_with_a_drawing_or_the_reason_why_not() -> None:
    answers = io.StringIO()
    serve_drawings(io.StringIO(json.dumps(DOTS.chart) + '\n{"mark": "nonsense"}\n'), answers)
    drawn, refused = (json.loads(line) for line in answers.getvalue().splitlines())
    assert drawn["svg"].startswith("<svg")
    assert "svg" not in refused
    assert refused["error"]


def test_figures_are_drawn_here_when_the_process_that_draws_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    process = figure_views.start_drawing.__wrapped__()
    assert process is not None
    process.kill()
    process.wait()
    monkeypatch.setattr(figure_views, "start_drawing", lambda: process)
    assert figure_views.start_view(DOTS).result().svg.startswith("<svg")
    monkeypatch.setattr(figure_views, "start_drawing", lambda: None)
    assert figure_views.start_view(DOTS).result().svg.startswith("<svg")


def test_a_chart_that_cannot_be_drawn_is_an_error_and_the_next_one_is_drawn() -> None:
    with pytest.raises(ValueError, match="conversion failed"):
        figure_views.start_view(replace(DOTS, chart={"mark": "nonsense"})).result()
    assert figure_views.start_view(DOTS).result().svg.startswith("<svg")


def test_drawings_are_told_apart_and_labels_keep_their_digits() -> None:
    chart = DOTS.chart | {"mark": {"type": "point", "clip": True}}
    first, second = (
        figure_views.start_view(replace(DOTS, name=name, chart=chart)).result() for name in ("one", "two é")
    )
    assert 'id="one-' in first.svg
    assert "url(#one-" in first.svg
    assert 'id="two---' in second.svg or 'id="two-' in second.svg
    assert "&lt;y&gt;" in first.svg
    assert "\\u003cy\\u003e" in first.chart
    text = replace(DOTS, chart={"data": {"values": [{}]}, "mark": {"type": "text", "text": "1.23456789"}})
    assert ">1.23456789<" in figure_views.start_view(text).result().svg


def test_a_chart_keeps_its_own_looks_and_takes_the_others_from_the_page() -> None:
    own = replace(DOTS, chart=DOTS.chart | {"config": {"axis": {"labelFontSize": 20}}})
    config = dress_chart(own)["config"]
    assert config["axis"]["labelFontSize"] == 20
    assert config["axis"]["labelColor"] == "currentColor"
    assert "config" not in DOTS.chart


def test_zoom_and_choice_are_added_wherever_the_marks_are() -> None:
    layered = {"data": {}, "facet": {}, "spec": {"layer": [{"mark": "rule"}, {"mark": "point"}]}}
    first, second = let_zoom(layered)["spec"]["layer"]
    assert first["params"][0]["bind"] == "scales"
    assert "params" not in second
    chosen = let_choose(let_zoom(DOTS.chart), "b", ("x", "y"))
    assert [param["name"] for param in chosen["params"]] == ["zoom", "shown"]
    assert chosen["transform"] == [{"filter": "indexof(shown, datum.b) >= 0"}]


def test_figures_and_pages_refuse_other_endings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_figure(DOTS, tmp_path / "dots.bmp")
    assert 'data-name="dots"' in render_analysis_page("T", ["A."], [Section("S", figures=(DOTS,))])
