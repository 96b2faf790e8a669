"""Medians and quantiles in tables for papers: their intervals, words, LaTeX and Markdown."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import binom

from datamill.analysis.distribution.order_statistics import find_ranks
from datamill.analysis.distribution.points import summarize_points
from datamill.cli.exchange.export import export
from datamill.experiment.errors import InputError
from datamill.report.tables.markup import format_latex, format_markdown
from datamill.report.tables.point_table import tabulate_points
from datamill.report.tables.table import Table


def tabulate(table: pl.DataFrame, response: str, **options: Any) -> Table:
    return tabulate_points(summarize_points(table, response, **options))


def make_table(trials: int = 12, measurements: int = 1) -> pl.DataFrame:
    """Times of two levels whose names LaTeX would misread; the last trial of `[b]` lies far out."""
    rng = np.random.default_rng(7)
    rows = []
    for flag, base in (("--fast", 0.002), ("*[b]_1", 0.003)):
        for trial in range(trials):
            value = base * (1 + 0.01 * rng.standard_normal()) * (40 if flag != "--fast" and trial == 0 else 1)
            rows += [
                {
                    "trial_id": f"{flag}{trial}",
                    "flag": flag,
                    "response": "wall_time",
                    "unit": "s",
                    "measurement": measurement,
                    "value": value,
                    "valid": True,
                    "exclusion": None,
                }
                for measurement in range(measurements)
            ]
    return pl.DataFrame(rows, schema_overrides={"exclusion": pl.String})


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("quantile", [0.05, 0.25, 0.5, 0.9, 0.99])
def test_an_interval_from_ranks_holds_with_at_least_its_confidence(
    quantile: float, confidence: float
) -> None:
    found = 0
    for n in (1, 5, 6, 10, 37, 100, 500, 3000):
        low, high = find_ranks(quantile, n, confidence)
        assert 0 <= low < high <= n + 1
        # The quantile lies between them when from `low` to `high` - 1 observations lie below it.
        inside = binom.cdf(high - 1, n, quantile) - binom.cdf(low - 1, n, quantile)
        assert inside >= confidence - 1e-12
        found += low >= 1 and high <= n
    assert found


def test_ranks_of_the_median_are_those_of_published_tables() -> None:
    # Conover, Practical Nonparametric Statistics: at 95%, n = 10 from the 2nd to the 9th.
    assert find_ranks(0.5, 10, 0.95) == (2, 9)
    assert find_ranks(0.5, 6, 0.95) == (1, 6)
    assert find_ranks(0.5, 5, 0.95) == (0, 6)


def test_a_median_stands_beside_the_mean_and_does_not_heed_one_extreme() -> None:
    printed = tabulate(make_table(), "wall_time", quantiles=[0.5])
    assert printed.headers == (
        "flag", "trials", "mean wall_time (ms)", "95% interval", "median (ms)", "95% interval",
    )  # fmt: skip
    rows = {row[0]: row for row in printed.rows}
    fast, far = rows["--fast"], rows["*[b]_1"]
    assert float(far[2].replace("\u202f", "")) > 10
    assert float(far[4]) == pytest.approx(3.0, rel=0.02)
    low, high = (float(text) for text in fast[5].split(" to "))
    assert low < float(fast[4]) < high
    values = np.sort(make_table().filter(flag="--fast")["value"].to_numpy()) * 1e3
    assert (low, high) == pytest.approx((values[2], values[9]), abs=0.001)
    assert "Median over the trials, interpolated" in " ".join(printed.notes)


def test_measurements_inside_a_trial_do_not_make_an_interval_narrower() -> None:
    once, often = (tabulate(make_table(12, count), "wall_time", quantiles=[0.5]) for count in (1, 9))
    assert once.rows == often.rows
    assert "over the means of trials" in " ".join(often.notes)


def test_too_few_trials_give_no_interval_and_the_number_that_would() -> None:
    printed = tabulate(make_table(5), "wall_time", quantiles=[0.5, 0.9])
    assert {row[5] for row in printed.rows} == {row[7] for row in printed.rows} == {"–"}
    notes = " ".join(printed.notes)
    assert "An interval needs 6 for the median, 36 for the 0.9 quantile" in notes


def test_without_quantiles_the_table_is_as_it_was() -> None:
    printed = tabulate(make_table(), "wall_time")
    assert printed.headers == ("flag", "trials", "wall_time (ms)", "95% interval")
    assert "edian" not in " ".join(printed.notes)


def check_latex(text: str) -> None:
    """Raise AssertionError unless the text is one or more whole tables whose rows have all their cells."""
    tables = re.findall(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}\n", text, re.DOTALL)
    assert tables
    for layout, body in tables:
        lines = body.splitlines()
        assert [lines[0], lines[2], lines[-1]] == [r"\toprule", r"\midrule", r"\bottomrule"]
        for row in (lines[1], *lines[3:-1]):
            assert row.endswith(r" \\")
            bare = re.sub(r"\\[&%$#_{}]|\\[a-zA-Z]+(\{\})?|\\,", "", row.removesuffix(r" \\"))
            bare = re.sub(r"\$[-\w ]*\$", "", bare).replace("{}", "")
            assert bare.count("&") == len(layout) - 1
            assert not re.search(r"[%$#_{}~^\\<>|]", bare), bare
            assert not row.startswith(("[", "*")), row
    if compiler := shutil.which("pdflatex"):
        compile_latex(compiler, text)


def compile_latex(compiler: str, text: str) -> None:
    document = "\\documentclass{article}\\usepackage{booktabs,textcomp}\\begin{document}\n"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [compiler, "-interaction=nonstopmode", "-halt-on-error"],
            input=f"{document}{text}\\end{{document}}\n",
            capture_output=True,
            text=True,
            timeout=120,
            cwd=folder,
            check=False,
        )
    assert done.returncode == 0, done.stdout


def test_latex_with_quantiles_is_whole_and_misreads_no_level() -> None:
    text = format_latex(tabulate(make_table(), "wall_time", quantiles=[0.5, 0.9]))
    check_latex(text)
    assert "-{}-fast" in text
    assert r"{}*[b]\_1" in text


def test_three_hyphens_and_a_sign_of_multiplication_stay_what_they_are() -> None:
    table = Table(("a × b",), (("---",), ("a-b",)), (False,))
    text = format_latex(table)
    assert "-{}-{}- " in text
    assert "a-b " in text
    assert r"a $\times$ b" in text


def test_markdown_has_as_many_cells_in_every_row() -> None:
    lines = format_markdown(tabulate(make_table(), "wall_time", quantiles=[0.5])).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


def run(*arguments: str) -> str:
    result = CliRunner().invoke(export, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_median_is_the_same_as_quantile_one_half(tmp_path: Path) -> None:
    file = tmp_path / "tidy.parquet"
    make_table().write_parquet(file)
    by_name = run(str(file), "--to", "markdown", "--median")
    assert "| median (ms) |" in by_name
    assert by_name == run(str(file), "--to", "markdown", "--quantiles", "0.5")
    assert "0.9 quantile (ms)" in run(str(file), "--to", "latex", "--quantiles", "0.5,0.9")


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (["--to", "csv"], "--to csv"),
        (["--to", "latex", "--rows"], "--rows"),
        (["--to", "latex"], "plain.csv"),
    ],
)
def test_quantiles_where_there_can_be_none_are_refused_with_what_to_do(
    options: list[str], where: str, tmp_path: Path
) -> None:
    file = tmp_path / "plain.csv"
    file.write_text("a,y\nu,1\nv,2\n")
    with pytest.raises(InputError) as problem:
        CliRunner().invoke(export, [str(file), *options, "--median"], catch_exceptions=False)
    assert where in str(problem.value)
    assert problem.value.remedy
