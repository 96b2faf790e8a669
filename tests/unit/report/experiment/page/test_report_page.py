import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from made.answered_study import render_page, write_answer
from made.page_study import LEVELS, make_study

from datamill.analysis.answer.response import analyze_response
from datamill.analysis.interval import Interval
from datamill.experiment.experiment import Package
from datamill.experiment.messages.numbers import format_p
from datamill.report.figures import vega_runtime
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import Figure
from datamill.report.figures.vega_runtime import load_vega_runtime
from datamill.report.page.analysis_page import Section, render_analysis_page
from datamill.report.tables.statement import Code
from datamill.report.tables.table import build_table
from datamill.report.words.scales import Scale, choose_scale, format_interval, format_percent


def test_the_answer_names_the_better_package_the_ratio_its_interval_and_n() -> None:
    answer = write_answer(*make_study(ratio=4.0))
    assert answer.headline.startswith("bzip2 is better: its rate is ")
    found = re.search(r"([\d.]+) times \(95% interval ([\d.]+) to ([\d.]+)\) xz's", answer.headline)
    assert found is not None
    estimate, low, high = (float(number) for number in found.groups())
    assert low < estimate < high
    # xz: mean of 0.6, 1 and 1 is 0.8667 of 2 MB/s, bzip2: 8 MB/s.
    assert low < 4 / (2.6 / 3) < high
    mean = re.search(r"Mean rate of bzip2: ([\d.]+) MB/s .* n = 17\.", " ".join(answer.details))
    assert mean is not None
    assert float(mean.group(1)) == pytest.approx(8, rel=0.01)
    assert answer.n == 35


def test_the_answer_says_what_else_mattered_and_bounds_what_did_not() -> None:
    answer = write_answer(*make_study())
    mattered, hidden, bound = answer.mattered
    assert "all hidden factors together" in bound
    assert "optimization" in mattered
    # xz: 0.6 at -O0, 1 at the other two levels, so that the change is from 3 to 5.
    change = re.search(r"at -O\d ([\d.]+)% \(.*\) higher than at -O0 for xz", mattered)
    assert change is not None
    assert float(change.group(1)) == pytest.approx(100 * (1 / 0.6 - 1), rel=0.05)
    assert "Not detectable here" in hidden
    assert re.search(r"aslr at most [\d.]+%", hidden)
    assert "no effect" not in " ".join(answer.lines())


def test_a_small_gap_is_given_in_percent_and_a_lower_is_better_response_turns_it_around() -> None:
    experiment, design, table, summary = make_study(ratio=1.2)
    assert re.search(
        r"\d% \(95% interval .*\) higher than xz's",
        write_answer(experiment, design, table, summary).headline,
    )
    swapped = replace(experiment, responses=experiment.responses[::-1])
    headline = write_answer(swapped, design, table, summary).headline
    assert headline.startswith("bzip2 is better: its time is ")
    assert "lower than xz's" in headline


def test_packages_that_do_not_differ_are_not_ranked() -> None:
    answer = write_answer(*make_study(ratio=2.6 / 3))
    assert answer.headline.startswith("The data do not tell")
    assert "95% interval" in answer.headline


def test_a_unit_of_ones_own_is_read_without_braces() -> None:
    assert choose_scale("{widgets}/s", 3.0) == Scale(1.0, "widgets/s")
    assert choose_scale("B/{widget}", 3000.0) == Scale(1e-3, "kB/widget")


def test_what_mattered_beside_the_packages_is_called_what_else_mattered() -> None:
    assert any(line.startswith("What else mattered") for line in write_answer(*make_study()).mattered)


def test_a_response_without_variation_is_told_as_measured_and_rounding_moves_nothing() -> None:
    experiment, design, table, summary = make_study()
    value = pl.when(pl.col("package") == "xz").then(0.1).otherwise(0.7)
    answer = write_answer(experiment, design, table.with_columns(value=value), summary)
    assert answer.headline == (
        "bzip2's rate was 7.000 times xz's as measured; like trials did not differ, so no interval can be "
        "given."
    )
    assert "interval" not in " ".join(answer.details)
    assert not any("What else mattered" in line for line in answer.mattered)
    assert sum("do not differ at all" in warning for warning in answer.warnings) == 1
    same = write_answer(experiment, design, table.with_columns(value=pl.lit(0.1)), summary)
    assert same.headline == "bzip2 and xz have the same rate, without any variation."


def test_an_interrupted_experiment_says_how_far_it_came() -> None:
    answer = write_answer(*make_study(keep=0.6))
    assert re.match(r"So far \d+ of 36 trials", answer.details[0])


def test_an_experiment_without_valid_data_has_no_answer_and_still_a_page() -> None:
    experiment, design, table, summary = make_study()
    nothing = table.with_columns(valid=pl.lit(value=False), value=pl.lit(None, dtype=pl.Float64))
    assert "no answer yet" in write_answer(experiment, design, nothing, summary).headline
    assert "no answer yet" in render_page(experiment, design, nothing, summary)


def test_an_empty_table_has_no_answer_and_still_a_page() -> None:
    experiment, design, table, summary = make_study()
    assert "no answer yet" in render_page(experiment, design, table.head(0), summary)


def test_a_question_about_a_factor_is_answered_by_its_levels() -> None:
    answer = write_answer(*make_study(packages=1))
    change = re.match(
        r"optimization matters: at -O\d rate is ([\d.]+)% \(95% interval ([\d.]+)% to ([\d.]+)%\) higher "
        r"than at -O0 \(the largest difference of 3 levels\)\.",
        answer.headline,
    )
    assert change is not None
    estimate, low, high = map(float, change.groups())
    assert low < 100 * (1 / 0.6 - 1) < high
    assert low < estimate < high
    lowest, *others = answer.details[:3]
    assert re.match(r"Mean rate: 1.2\d* MB/s \(95% .*\) at -O0, n = 5, which the others are compared", lowest)
    for level, line in zip(("-O1", "-O2"), others, strict=True):
        assert re.match(rf"Mean rate: .* at {level}, n = 6; .*% .* higher than at -O0\.", line)
    assert re.match(r"Mean rate of xz: [\d.]+ MB/s \(95% interval .*\), n = 17\.", answer.details[3])
    assert not any("optimization" in line for line in answer.mattered)


def test_shared_builds_are_a_limit_of_the_answer() -> None:
    experiment, design, table, summary = make_study()
    answer = write_answer(experiment, design, table, replace(summary, builds_shared=True))
    assert "Builds are shared: variation between builds is not covered by these intervals." in answer.warnings


def test_measurements_inside_one_trial_are_not_counted_as_replicates() -> None:
    experiment, design, table, _ = make_study(measurements=5)
    analysis = analyze_response(experiment, design, table, experiment.responses[0])
    assert analysis.observations.cells.n == 35
    assert analysis.observations.averaged == 35
    assert any("not replicates" in warning for warning in analysis.warnings)


def drop_runtime(page: str) -> str:
    """The page without the scripts of Vega, which are the same on every page."""
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def find_charts(page: str) -> dict[str, dict[str, Any]]:
    """The charts of a page's figures by name."""
    found = re.findall(
        r'<figure class="chart" data-name="([^"]*)">.*?<script type="application/json">(.*?)</script>',
        page,
        flags=re.DOTALL,
    )
    return {html.unescape(name): json.loads(chart) for name, chart in found}


@pytest.mark.usefixtures("drawings")
@pytest.mark.parametrize("study", [{}, {"packages": 1}, {"keep": 0.3}], ids=str)
def test_the_page_stands_alone(study: dict[str, Any]) -> None:
    page = render_page(*make_study(**study))
    assert page.count("<script>") == 2
    text = drop_runtime(page)
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert not re.search(r"@import|url\((?!['\"]?#)", text)
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert {re.sub(r"/v\d.*", "", address) for address in addresses} <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
        "https://vega.github.io/schema/vega-lite",
    }
    assert "default-src 'none'" in text
    assert len(page) < 3_000_000
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ElementTree.fromstring(svg)


@pytest.mark.usefixtures("drawings")
@pytest.mark.parametrize("study", [{}, {"packages": 1}, {"heavy": True}], ids=str)
def test_every_figure_has_a_still_twin_and_a_chart_with_its_data(study: dict[str, Any]) -> None:
    page = drop_runtime(render_page(*make_study(**study)))
    charts = find_charts(page)
    figures = re.findall(r"<figure.*?</figure>", page, flags=re.DOTALL)
    assert len(charts) == len(figures) == page.count("<svg") == page.count("</svg>") >= 8
    assert {"boxes-rate", "distribution", "effect-optimization", "residuals", "boxes-time"} <= set(charts)
    for figure in figures:
        assert figure.index("<svg") < figure.index('class="scroll live"') < figure.index("<script")
        assert re.search(r"<figcaption><strong>[^<]", figure)
    for chart in charts.values():
        assert re.search(r'"(values|datasets)"', json.dumps(chart))
        assert "http" not in re.sub(r'"\$schema": *"[^"]*"', "", json.dumps(chart))


def test_a_figure_is_drawn_from_the_chart_that_stands_beside_it() -> None:
    charts = find_charts(render_page(*make_study()))
    rows = charts["boxes-rate"]["data"]["values"]
    medians = {(row["x"], row["column"]): row["median"] for row in rows if "median" in row}
    assert medians["bzip2", "-O2"] == pytest.approx(8, rel=0.02)
    assert medians["xz", "-O0"] == pytest.approx(1.2, rel=0.02)
    shares = [row["share"] for row in charts["distribution"]["data"]["values"] if row["group"] == "xz"]
    assert shares[0] == 0
    assert max(shares) == 1


def test_failed_assumptions_are_told_in_words_and_shown_and_quantiles_stand_beside_the_means() -> None:
    page = drop_runtime(render_page(*make_study(heavy=True, replicates=60)))
    text = page[page.index('id="trust"') :]
    assert re.search(r"things? that the linear model needs do(es)? not hold", text)
    assert "trust the quantile regression" in text.lower()
    assert 'data-name="probability"' in text
    assert 'id="quantiles"' in text
    assert 'data-name="effects-by-quantile"' in text
    # Higher is better, so that the tail of interest is the low one.
    assert "Effects on the 0.1 quantile" in text
    assert re.search(r"<td>package</td><td class=\"figure\">[+−]", text)


def test_sound_data_need_no_quantiles() -> None:
    page = drop_runtime(render_page(*make_study(ratio=1.05, replicates=10)))
    assert "The means can be trusted." in page
    assert 'id="quantiles"' not in page


def test_points_beyond_the_whiskers_are_thinned_and_the_extremes_kept() -> None:
    experiment, design, table, summary = make_study(replicates=400, heavy=True)
    page = render_page(experiment, design, table, summary)
    rows = find_charts(page)["boxes-rate"]["data"]["values"]
    beyond = [row["beyond"] for row in rows if "beyond" in row]
    assert len(beyond) <= 420
    rates = table.filter((pl.col("response") == "rate") & pl.col("valid"))["value"]
    assert min(beyond) == pytest.approx(float(rates.min()) / 1e6)  # type: ignore[arg-type]
    assert re.search(r"\d of the points beyond are not drawn", page)


def test_a_wide_range_gets_a_logarithmic_axis_and_says_so() -> None:
    wide = drop_runtime(render_page(*make_study(ratio=400.0)))
    assert "The axis is logarithmic" in wide
    assert '"type":"log"' in wide
    assert "The axis is logarithmic" not in render_page(*make_study(ratio=4.0))


def test_very_many_observations_make_a_page_of_a_few_megabytes() -> None:
    experiment, design, _, summary = make_study()
    rng = np.random.default_rng(3)
    n = 300_000
    levels = {name: rng.integers(0, len(given), n) for name, given in LEVELS.items()}
    table = pl.DataFrame(
        {name: pl.Series(list(LEVELS[name]))[codes] for name, codes in levels.items()}
    ).with_columns(
        trial_id=pl.int_range(n).cast(pl.String),
        worker=pl.lit("lab"),
        response=pl.lit("rate"),
        unit=pl.lit("B/s"),
        value=pl.Series(1e6 * (1 + levels["package"]) / (1 + rng.pareto(2.0, n))),
        valid=pl.lit(value=True),
        exclusion=pl.lit(None, dtype=pl.String),
        doubt=pl.lit(None, dtype=pl.String),
    )
    page = render_page(experiment, design, table, summary)
    assert len(page) < 3_000_000
    assert "n = 300000" in page


def test_the_runtime_is_kept_and_made_anew_when_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "</script" not in load_vega_runtime().lower()
    # To put the real ones together takes two seconds each time; the test of a first use does.
    text, made = "var vegaEmbed;\nwindow.vegaEmbed=vegaEmbed;", []
    converter = SimpleNamespace(javascript_bundle=lambda entry: made.append(entry) or text)
    monkeypatch.setattr(vega_runtime, "vl_convert", converter)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [load_vega_runtime(), load_vega_runtime()] == [text, text]
    assert made == ["window.vegaEmbed = vegaEmbed;"]
    (kept,) = (tmp_path / "datamill").iterdir()
    assert kept.read_text() == text
    kept.write_text(text[: len(text) // 2])
    assert load_vega_runtime() == text
    assert kept.read_text() == text
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    assert load_vega_runtime() == text
    assert len(made) == 3


def test_a_page_of_any_analysis_has_its_answer_tables_figures_and_warnings() -> None:
    figure = Figure(
        "dots",
        "Dots </script><script>alert(1)</script>",
        "three of them",
        {
            "data": {"values": [{"a": 1, "b": "</script>"}, {"a": math.inf, "b": "<!--"}]},
            "mark": "point",
            "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}},
        },
    )
    sections = [
        Section(
            "Numbers",
            ("Some numbers.",),
            (figure,),
            (build_table(("a", "b"), (("x", "1"),)), Code(("Low  <b>",))),
        )
    ]
    page = render_analysis_page("Analysis", ["It is 3."], sections, ["Few data"])
    text = drop_runtime(page)
    assert page.count("<script>") == 2
    assert text.count("<script") == 1
    assert "<!--" not in text
    assert find_charts(page)["dots"]["data"]["values"][1] == {"a": None, "b": "<!--"}
    for part in ("It is 3.", "Some numbers.", "<td>x</td>", "<pre>Low  &lt;b&gt;</pre>", "Few data"):
        assert part in text, part
    assert "<script" not in render_analysis_page("Analysis", ["It is 3."], [Section("Numbers")])


def test_the_page_shows_answer_trials_exclusions_warnings_machine_and_seed() -> None:
    page = render_page(*make_study())
    for text in (
        "bzip2 is better",
        "trial failed: run.sh ended with status 3",
        "Factor aslr was not effective for package bzip2.",
        "Some CPU",
        "seed 42",
        "Where the variation comes from",
        "package × optimization",
    ):
        assert text in page, text


def test_the_page_says_where_orphans_are_counted() -> None:
    assert "are in the counters, but not in user and system time" in render_page(*make_study())


def test_groups_differ_in_colour_or_shape_and_the_legend_shows_both() -> None:
    marks = [choose_mark(index) for index in range(42)]
    assert len({(mark.color, mark.shape) for mark in marks}) == 42
    page = render_page(*make_study())
    for index, name in enumerate(LEVELS["package"]):
        mark = choose_mark(index)
        assert f'color: {mark.color}" aria-hidden="true">{mark.character}</span>{name}' in page


@pytest.mark.usefixtures("drawings")
def test_an_axis_of_large_numbers_is_scaled_though_most_values_are_small() -> None:
    experiment, design, table, summary = make_study(replicates=5)
    value = pl.when(pl.col("trial_id") == "t003").then(4e12).otherwise(pl.col("value") / 1e3)
    page = render_page(experiment, design, table.with_columns(value=value), summary)
    assert "rate (TB/s)" in page
    for name in ("boxes-rate", "distribution", "residuals", "effect-aslr"):
        drawn = page[page.index(f'data-name="{name}"') :]
        assert not re.search(r">\d{1,3},\d{3},\d{3}<", drawn[: drawn.index("</svg>")]), name


def test_what_users_write_is_text_and_never_markup() -> None:
    evil = "<img src=x onerror=alert(1)>\"'&"
    experiment, design, table, summary = make_study()
    experiment = replace(
        experiment, name=evil, question=evil, packages=(Package(evil, evil), experiment.packages[1])
    )
    factors = tuple(
        replace(factor, levels=(evil, "bzip2")) if factor.name == "package" else factor
        for factor in design.factors
    )
    table = table.with_columns(
        pl.col("package").replace("xz", evil),
        exclusion=pl.when(pl.col("valid")).then(None).otherwise(pl.lit(evil)),
    )
    page = render_page(
        experiment, replace(design, factors=factors), table, replace(summary, warnings=(evil,))
    )
    text = drop_runtime(page)
    assert "<img" not in text
    assert "&lt;img src=x" in text
    assert evil in {row["x"] for row in find_charts(page)["boxes-rate"]["data"]["values"]}


def test_many_trials_make_a_small_page() -> None:
    page = render_page(*make_study(replicates=300))
    assert len(drop_runtime(page)) < 1_500_000


@pytest.mark.parametrize(
    ("unit", "magnitude", "scale"),
    [
        ("B/s", 12345678, Scale(1e-6, "MB/s")),
        ("s", 0.0021, Scale(1e3, "ms")),
        ("ns", 4.2e9, Scale(1e-9, "s")),
        ("s", 90000, Scale(1.0, "s")),
        ("B", 0.5, Scale(1.0, "B")),
        ("{widgets}/s", 5e6, Scale(1e-6, "million widgets/s")),
        ("1", 3, Scale(1.0, "")),
    ],
)
def test_units_take_the_prefix_that_people_would_use(unit: str, magnitude: float, scale: Scale) -> None:
    chosen = choose_scale(unit, magnitude)
    assert chosen.unit == scale.unit
    assert chosen.factor == pytest.approx(scale.factor)


def test_numbers_show_as_many_digits_as_their_interval_allows() -> None:
    scale = Scale(1e-6, "MB/s")
    assert format_interval(Interval(12345678, 12200000, 12480000), scale, 0.95) == (
        "12.35 MB/s (95% interval 12.20 to 12.48)"
    )
    assert format_percent(Interval(2.31, 1.94, 2.68), 0.95, signed=True) == (
        "+2.31% (95% interval +1.94% to +2.68%)"
    )
    assert format_percent(Interval(-0.0001, -1.2, 1.2), 0.9) == "0.0% (90% interval −1.2% to 1.2%)"


@pytest.mark.parametrize(
    ("p", "text"),
    [(1.3e-187, "1.3e-187"), (0.0, "< 1e-300"), (0.0859, "0.0859"), (0.5, "0.50"), (None, "no test")],
)
def test_p_values_reach_far_into_the_tail(p: float | None, text: str) -> None:
    assert format_p(p) == text


def test_a_plot_says_which_trials_it_leaves_out() -> None:
    experiment, design, table, summary = make_study(replicates=2)
    lost = (pl.col("package") == "xz") & (pl.col("optimization") == "-O1") & (pl.col("aslr") == "on")
    page = render_page(experiment, design, table.filter(~lost), summary)
    assert re.search(r"<strong>optimization</strong>.*xz: from \d+ of \d+ trials", page, flags=re.DOTALL)
    none_left = (pl.col("package") == "xz") & (pl.col("optimization") == "-O1")
    page = render_page(experiment, design, table.filter(~none_left), summary)
    assert "xz is not shown" in page
    assert not re.search(r"bzip2: from|is not shown", render_page(experiment, design, table, summary))
