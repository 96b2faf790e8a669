"""Whether binned calls explain the slow ones, from tables of all kinds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import datamill
from datamill.allocators.binning.find_effect import choose_window
from datamill.cli.allocators.analyze import analyze
from datamill.experiment.errors import InputError

FEW = [0.25, 0.5, 0.75]


def make_calls(n: int = 400, *, factor: float = 5.0, seed: int = 1) -> pl.DataFrame:
    """Calls of which every 19th is binned and takes `factor` times as long."""
    binned = np.arange(n) % 19 == 0
    latency = np.exp(np.random.default_rng(seed).normal(3, 0.2, n)) * np.where(binned, factor, 1)
    return pl.DataFrame({"index": np.arange(n), "latency_ns": latency, "binned": binned})


def test_binned_calls_that_are_all_the_slow_ones_explain_them() -> None:
    result = datamill.analyze_allocations(make_calls(), quantiles=FEW)
    effect = result.effect
    assert (effect.explains, effect.is_slower) == ("most", True)
    assert (effect.slow.n, effect.slow.binned, effect.binned.n) == (22, 22, 22)
    assert result.lead[0].startswith("Binned calls explain most of the slow ones: 22 of the 22 slowest calls")
    assert "100" in result.lead[0]
    difference = effect.means.estimates[0].value
    assert difference.low < effect.binned.mean - effect.fast.mean < difference.high
    assert "binned is coded 0/1" in result.text()


def test_binned_calls_that_are_like_others_explain_nothing() -> None:
    result = datamill.analyze_allocations(make_calls(factor=1.0), quantiles=FEW)
    assert (result.effect.explains, result.effect.is_slower) == ("none", False)
    assert result.lead[0].startswith("Binned calls do not explain the slow ones")


def test_binned_calls_among_others_that_are_as_slow_explain_some() -> None:
    calls = make_calls(1900)
    slow = pl.col("index") % 5 == 1
    calls = calls.with_columns(pl.when(slow).then(pl.col("latency_ns") * 5).otherwise("latency_ns"))
    assert datamill.analyze_allocations(calls, quantiles=FEW).effect.explains == "some"


@pytest.mark.parametrize("words", [["0", "1"], ["false", "true"], ["no", "Yes"], [0, 1], [0.0, 3.0]])
def test_calls_are_marked_in_many_ways(words: list[object]) -> None:
    calls = make_calls()
    marked = calls.with_columns(
        binned=pl.Series([words[int(mark)] for mark in calls["binned"]], strict=False)
    )
    told = datamill.analyze_allocations(calls, quantiles=FEW).effect
    found = datamill.analyze_allocations(marked, quantiles=FEW).effect
    assert (found.w, found.binned) == (told.w, told.binned)


def test_a_file_of_texts_may_count_events(tmp_path: Path) -> None:
    file = tmp_path / "calls.csv"
    make_calls().with_columns(pl.col("binned").cast(pl.Int64) * 2).write_csv(file)
    counted = datamill.analyze_allocations(file, quantiles=FEW).effect
    assert (counted.binned.n, counted.calls.binned.max()) == (22, 2)


def test_calls_are_taken_in_the_order_of_their_index() -> None:
    calls = make_calls()
    mixed = calls.sample(fraction=1.0, shuffle=True, seed=3)
    told, found = (datamill.analyze_allocations(table, quantiles=FEW).effect for table in (calls, mixed))
    assert found.windows.windows == told.windows.windows
    assert found.quantiles.fits[1].changes[2].value.estimate == pytest.approx(
        told.quantiles.fits[1].changes[2].value.estimate, rel=1e-9
    )


def test_without_an_index_the_rows_are_the_order_and_calls_without_latency_are_left_out() -> None:
    calls = make_calls().drop("index")
    calls = calls.with_columns(pl.when(pl.arange(pl.len()) != 5).then("latency_ns"))
    result = datamill.analyze_allocations(calls, quantiles=FEW)
    assert result.effect.calls.latency.size == 399
    assert "1 rows without latency_ns are left out" in result.warnings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"binned": pl.lit(value=False)}, "0 of 400 calls are binned"),
        ({"binned": pl.lit("maybe")}, 'column binned has "maybe"'),
        ({"binned": pl.lit(-1)}, "numbers below zero"),
        ({"latency_ns": -pl.col("latency_ns")}, "negative numbers"),
        ({"latency_ns": pl.lit("slow")}, "latency_ns"),
    ],
)
def test_tables_that_say_nothing_are_refused(change: dict[str, pl.Expr], message: str) -> None:
    with pytest.raises(InputError, match=message):
        datamill.analyze_allocations(make_calls().with_columns(**change), quantiles=FEW)


def test_a_missing_column_is_named_with_those_that_are_there() -> None:
    with pytest.raises(InputError, match="no column binned") as error:
        datamill.analyze_allocations(make_calls().drop("binned"))
    assert "latency_ns" in str(error.value.remedy)


def test_a_window_has_one_or_two_events_and_there_are_thirty_of_them() -> None:
    assert choose_window(10_000, 500) == 30
    assert choose_window(10_000, 2) == 333
    assert choose_window(40, 20) == 3


def test_the_command_prints_json_and_writes_a_page_with_four_figures(tmp_path: Path) -> None:
    file, page = tmp_path / "calls.csv", tmp_path / "calls.html"
    make_calls().write_csv(file)
    done = CliRunner().invoke(analyze, [str(file), "--quantiles", "0.5", "--html", str(page), "--json"])
    assert done.exit_code == 0, done.output
    numbers = json.loads(done.output)
    assert numbers["explains"] == "most"
    assert set(numbers["mann_whitney"]) == {"w", "u", "p", "method", "estimates"}
    assert [row["name"] for row in numbers["model"]["quantiles"][0]["changes"]] == [
        "intercept",
        "binned[1]",
        "index",
    ]
    written = page.read_text(encoding="utf-8")
    for name in ("calls-by-index", "densities", "variability-windows", "effects-by-quantile"):
        assert name in written
