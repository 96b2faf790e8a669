"""What the report says and shows of drift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made.answered_study import write_report
from made.page_study import Study, make_study

from datamill.analysis.drift.find import find_drift
from datamill.analysis.drift.select import select_run_order
from datamill.experiment.experiment import Replication
from datamill.report.drift.figures import draw_blocks, draw_drift
from datamill.report.figures.figure import render_svg
from datamill.results.judgement.validity import REFERENCE_REASON

MINUTE_NS = 60_000_000_000
FACTORS = ("package", "optimization", "aslr")


def run_in_time(drift=lambda place: 0.0 * place, *, first: str = "", references: int = 0) -> Study:
    """The made-up study with trials at times, in random order, or the package `first` before the other."""
    experiment, design, table, trials = make_study(replicates=8)
    names = table["trial_id"].unique(maintain_order=True).to_list()
    package = dict(table.select("trial_id", "package").unique().iter_rows())
    rng = np.random.default_rng(3)
    ranked = sorted(rng.permutation(names), key=lambda name: package[name] != first if first else 0)
    minute = {name: at for at, name in enumerate(ranked)}
    at = np.array([minute[name] for name in table["trial_id"]])
    place = at / (len(names) - 1)
    table = table.with_columns(
        started_unix_ns=pl.Series(at * MINUTE_NS),
        value=pl.col("value") * pl.Series(1 + drift(place)),
        block=pl.Series([f"hour {hour}" for hour in 1 + at // 10]),
        purpose=pl.lit("question"),
    )
    extra = [
        table.filter(pl.col("response") == "rate").head(1).with_columns(
            trial_id=pl.lit(f"r{number:02d}"),
            started_unix_ns=pl.lit(number * 10 * MINUTE_NS + 1, dtype=pl.Int64),
            value=pl.lit(1e6 * (1 + float(drift(np.array([number * 10 / len(names)]))[0]))),
            valid=pl.lit(value=False),
            exclusion=pl.lit(REFERENCE_REASON),
            purpose=pl.lit("reference"),
            block=pl.lit(f"hour {number + 1}"),
        )
        for number in range(references)
    ]  # fmt: skip
    return experiment, design, pl.concat([table, *extra]), trials


def test_without_drift_the_page_says_so_and_the_answer_does_not_warn() -> None:
    page = write_report(*run_in_time())
    assert "No drift was detected in rate" in page.html
    assert not any("Drift" in warning for warning in page.answer.warnings)


def test_a_drift_is_a_warning_with_its_size_and_interval() -> None:
    page = write_report(*run_in_time(lambda place: 0.1 * place))
    warning = next(text for text in page.answer.warnings if text.startswith("Drift"))
    assert "from the first trial to the last rate changed by +9" in warning
    assert "95% interval" in warning
    assert "Packages took turns" in warning


def test_a_package_that_ran_first_is_warned_of() -> None:
    page = write_report(*run_in_time(lambda place: 0.1 * place, first="xz"))
    warning = next(text for text in page.answer.warnings if text.startswith("Drift"))
    assert "xz ran earlier than bzip2" in warning
    assert "may be drift" in warning


def test_a_lucky_hour_is_named() -> None:
    experiment, design, table, trials = run_in_time(lambda place: 0.1 * ((place > 0.42) & (place < 0.53)))
    page = write_report(replace(experiment, block="hour"), design, table, trials)
    warning = next(text for text in page.answer.warnings if text.startswith("Drift"))
    assert "hour 5, trials" in warning
    assert "lie apart" in warning
    assert "Differences are taken within blocks" in warning


def test_reference_trials_show_drift_where_nothing_else_is_repeated() -> None:
    experiment, design, table, trials = run_in_time(lambda place: 0.2 * place, references=20)
    order = select_run_order(table.filter(pl.col("purpose") == "reference"), "rate", FACTORS)
    assert order is not None
    assert order.reference.all()
    drift = find_drift(order)
    assert drift is not None
    assert drift.kind == "trend"
    assert "The 20 reference trials are among" in write_report(experiment, design, table, trials).html


def test_reference_trials_lose_their_warm_up() -> None:
    table = run_in_time(references=4)[2].filter(pl.col("purpose") == "reference")
    several = pl.concat(
        [
            table.with_columns(measurement=pl.lit(number, dtype=pl.Int64), value=pl.lit(float(value)))
            for number, value in enumerate((90, 50, 1, 3))
        ]
    )
    order = select_run_order(several, "rate", FACTORS, warmup=2)
    assert order is not None
    assert order.values.tolist() == [2.0] * 4
    experiment, design, whole, trials = run_in_time(references=4)
    assert write_report(replace(experiment, replication=Replication(warmup=2)), design, whole, trials)


def test_excluded_trials_take_no_part() -> None:
    _, _, table, _ = run_in_time(references=3)
    order = select_run_order(table, "rate", FACTORS)
    assert order is not None
    valid = table.filter((pl.col("response") == "rate") & pl.col("valid"))
    assert order.values.size == valid.height + 3
    broken = table.with_columns(exclusion=pl.lit("trial failed"))
    without = select_run_order(broken, "rate", FACTORS)
    assert without is not None
    assert not without.reference.any()


def test_the_figures_show_packages_references_and_blocks() -> None:
    _, _, table, _ = run_in_time(lambda place: 0.1 * ((place > 0.42) & (place < 0.53)), references=9)
    order = select_run_order(table, "rate", FACTORS, packages=("xz", "bzip2"))
    assert order is not None
    drift = find_drift(order, compare_blocks=True)
    assert drift is not None
    points, boxes = draw_drift(drift, "rate", "B/s"), draw_blocks(drift, "rate", "B/s")
    assert boxes is not None
    drawn = [value["group"] for value in points.chart["data"]["values"]]
    assert list(dict.fromkeys(sorted(drawn))) == ["bzip2", "reference", "xz"]
    assert drawn.count("reference") == 9
    assert "<svg" in render_svg(points)
    assert "hour 5" in render_svg(boxes)


def test_a_response_that_may_be_negative_drifts_in_its_own_unit() -> None:
    experiment, design, table, trials = run_in_time()
    ordered = table.with_columns(value=pl.col("started_unix_ns") / MINUTE_NS - 40)
    page = write_report(experiment, design, ordered, trials)
    warning = next(text for text in page.answer.warnings if text.startswith("Drift"))
    assert "B/s" in warning
    assert "rate changed by" in warning


@pytest.mark.parametrize("column", ["started_unix_ns"])
def test_a_table_without_times_has_no_section_on_drift(column: str) -> None:
    experiment, design, table, trials = run_in_time()
    page = write_report(experiment, design, table.drop(column), trials)
    assert 'id="drift"' not in page.html


def test_a_drift_is_warned_of_once() -> None:
    page = write_report(*run_in_time(lambda place: 0.1 * place))
    assert sum("drift" in warning.lower() for warning in page.answer.warnings) == 1


def test_blocks_that_the_experiment_asked_for_are_not_advised_again() -> None:
    experiment, design, table, trials = run_in_time(lambda place: 0.1 * place)
    plain = write_report(experiment, design, table, trials)
    one_hour = table.with_columns(block=pl.lit("hour 1"))
    asked = write_report(replace(experiment, block="hour"), design, one_hour, trials)
    advice = 'order = "interleaved" or block = "hour"'
    assert any(advice in warning for warning in plain.answer.warnings)
    assert not any(advice in warning for warning in asked.answer.warnings)
    assert any("find out what changed meanwhile" in warning for warning in asked.answer.warnings)


def test_the_outermost_trials_are_not_cut_off_by_the_frame() -> None:
    _, _, table, _ = run_in_time()
    order = select_run_order(table, "rate", FACTORS)
    assert order is not None
    drift = find_drift(order)
    assert drift is not None
    encoding = draw_drift(drift, "rate", "B/s").chart["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["padding"] > 4
    assert encoding["y"]["scale"]["padding"] > 4
