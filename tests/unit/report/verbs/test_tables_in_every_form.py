"""One table in every form: text, a page, Markdown, LaTeX and CSV show the same cells."""

from __future__ import annotations

import csv
import io

import pytest
from faces.python_verbs import VERBS, make_levels, make_versions

import datamill
from datamill.experiment.errors import InputError
from datamill.report.tables.markup import format_csv, format_latex, format_markdown
from datamill.report.tables.statement import BLANK, Heading, Paragraph, list_tables
from datamill.report.tables.table import Layout, build_table
from datamill.report.tables.text import lay_out_table, render_text

WIDE = build_table(
    ("builds", "rule", "Welch", "rule", "Welch"),
    [("1", "2.5", "−3.1", "4", "5"), ("2", "6", "7", "8", "1\u202f200")],
    0,
    over=(("", 1), ("builds", 2), ("executions", 2)),
)
GROUPED = build_table(
    ("level", "SD"), [("build", "1"), ("execution", "2"), ("build", "3")], groups=[(0, "old:"), (2, "new:")]
)


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_names_over_headers_stand_above_their_columns_in_every_form() -> None:
    text = lay_out_table(WIDE)
    assert text[0].split() == ["builds", "executions"]
    assert set(text[2]) == {"-"}
    assert r" & \multicolumn{2}{c}{builds} & \multicolumn{2}{c}{executions} \\" in format_latex(WIDE)
    assert "| builds | builds: rule | builds: Welch |" in format_markdown(WIDE)
    assert read_csv(format_csv(WIDE))[0] == [
        "builds", "builds: rule", "builds: Welch", "executions: rule", "executions: Welch",
    ]  # fmt: skip


def test_numbers_of_csv_are_numbers_of_other_programs() -> None:
    rows = read_csv(format_csv(WIDE))[1:]
    assert [[float(cell) for cell in row] for row in rows] == [[1, 2.5, -3.1, 4, 5], [2, 6, 7, 8, 1200]]


def test_no_spreadsheet_computes_a_cell_of_csv_and_numbers_stay_numbers() -> None:
    formulas = [
        "=1+1",
        "-f(1)",
        "@x",
        "+x!A1",
        "-2+3+cmd|' /C calc'!A0",
        '-1+HYPERLINK("x")',
        "-1+WEBSERVICE (A2)",
    ]
    printed = ["−3.5%", "+1.2 ms", "−3% (−4% to −2%)", "−2e−9", "-0.5 to +2", "O2"]
    table = build_table(("=level", "change"), [*zip(formulas, printed, strict=False)], groups=[(0, "=1:")])
    rows = read_csv(format_csv(table))
    assert rows[0] == ["group", "'=level", "change"]
    assert [row[0] for row in rows[1:]] == ["'=1"] * len(printed)
    assert [row[1] for row in rows[1:]] == [f"'{text}" for text in formulas[: len(printed)]]
    assert [row[2] for row in rows[1:]] == [text.replace("−", "-") for text in printed]
    swapped = build_table(("change", "level"), [*zip(printed, formulas, strict=False)], 0)
    assert [row[1] for row in read_csv(format_csv(swapped))[1:]] == [row[1] for row in rows[1:]]


def test_headings_of_rows_stand_above_them_or_before_each() -> None:
    assert lay_out_table(GROUPED)[2:] == ["old:", "build       1", "execution   2", "new:", "build       3"]
    assert [row[0] for row in read_csv(format_csv(GROUPED))[1:]] == ["old", "old", "new"]
    assert format_latex(GROUPED).count("multicolumn") == 2
    assert format_markdown(GROUPED).splitlines()[2:4] == ["| old: |  |", "| build | 1 |"]


def test_a_name_longer_than_its_room_keeps_its_numbers_in_their_columns() -> None:
    table = build_table(("name", "x"), [("a name that is long", "1"), ("b", "2")], layout=Layout((4,), 6))
    assert lay_out_table(table) == ["name     x", "-" * 10, "a name that is long", "         1", "b        2"]


def test_columns_that_a_line_has_no_room_for_follow_with_the_names_again() -> None:
    heads = ["effect", *(f"quantile {index}" for index in range(12))]
    table = build_table(heads, [["(intercept)", *(str(index) for index in range(12))]])
    folded = build_table(heads, table.rows, layout=Layout(is_folded=True))
    lines = lay_out_table(folded)
    assert max(map(len, lines)) <= 100
    assert sum(line.startswith("(intercept)") for line in lines) > 1
    shown = [cell for line in lines if line.startswith("(intercept)") for cell in line.split()[1:]]
    assert shown == [str(index) for index in range(12)]


def test_a_table_has_the_heading_before_it_as_its_title() -> None:
    parts = (Paragraph("It is 3."), BLANK, Heading("Means of y (s):"), BLANK, GROUPED, BLANK, WIDE)
    assert [table.title for table in list_tables(parts)] == ["Means of y (s)", ""]
    assert render_text(parts).splitlines()[:3] == ["It is 3.", "", "Means of y (s):"]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_page_has_the_cells_of_the_text_in_tables(verb: object) -> None:
    if verb in (datamill.variance, datamill.compare):
        result = verb(make_versions())  # type: ignore[operator]
    else:
        result = verb(make_levels(), response="y", factors=["f"])  # type: ignore[operator]
    page = result.page()
    numbers = page.partition(">The numbers</h2>")[2].partition(">Words on this page<")[0]
    assert "<pre>" not in numbers
    tables = list_tables(result.statement())
    assert numbers.count("<table>") == len(tables)
    assert bool(tables) == (verb is not datamill.tests)
    text = result.text()
    for table in tables:
        for row in table.rows:
            for cell in row:
                assert cell.strip() in text
                assert cell.strip().replace("<", "&lt;").replace(">", "&gt;") in numbers


def test_an_unknown_form_is_refused_with_those_that_are_known() -> None:
    result = datamill.variance(make_versions())
    with pytest.raises(InputError, match='no form "xlsx"'):
        result.tables("xlsx")  # type: ignore[arg-type]
    assert result.tables("markdown").startswith("**Means of value**")
    assert r"\begin{tabular}" in result.tables("latex")
