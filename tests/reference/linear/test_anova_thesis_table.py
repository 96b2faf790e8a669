"""Thesis 2015, Tables 1.2 and 1.3 and equation 1.2, through the command that a user types."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.analyze import analyze

TABLE = Path(__file__).parents[3] / "studies" / "thesis-table-1-2" / "table-1.2.csv"

#: As printed: factor, low, estimate, high, sum of squares, whether p < 0.01.
TABLE_1_3 = [
    ("x1", "-9.938343", "-8.0307", "-6.1230735", "1547.81", True),
    ("x2", "-3.262593", "-1.3550", "0.5526765", "44.06", False),
    ("x3", "7.974490", "9.8821", "11.7897598", "2343.75", True),
    ("x1:x2", "-6.626593", "-4.7190", "-2.8113235", "534.45", True),
    ("x1:x3", "-2.016676", "-0.1090", "1.7985932", "0.29", False),
    ("x2:x3", "-3.554760", "-1.6471", "0.2605098", "65.11", False),
    ("x1:x2:x3", "-2.430760", "-0.5231", "1.3845098", "6.57", False),
]
#: From R and an independent calculation: estimate, sum of squares, p.
REFERENCE = {
    "x1": (-8.030708, 1547.814632, 1.30568e-07),
    "x2": (-1.354958, 44.061890, 0.151623),
    "x3": (9.882125, 2343.753468, 7.35163e-09),
    "x1:x2": (-4.718958, 534.445626, 8.02719e-05),
    "x1:x3": (-0.109042, 0.285362, 0.905061),
    "x2:x3": (-1.647125, 65.112498, 0.0858801),
    "x1:x2:x3": (-0.523125, 6.567834, 0.569114),
}


def read_row(name: str) -> list[str]:
    """Cells of a term's row, with numbers as Python reads them."""
    text = run_anova().replace("\u202f", "").replace("\u2212", "-").partition("Analysis of variance of")[2]
    shown = name.replace(":", " × ")
    line = next(line for line in text.splitlines() if re.match(rf"{re.escape(shown)}  ", line))
    return line.removeprefix(shown).split()


def run_anova(*options: str) -> str:
    result = CliRunner().invoke(
        analyze, ["anova", str(TABLE), "--response", "y", "--factors", "x1,x2,x3", *options]
    )
    assert result.exception is None, result.output
    return result.output


def round_as_printed(number: float, printed: str) -> str:
    return f"{number:.{len(printed.partition('.')[2])}f}"


@pytest.mark.parametrize("row", TABLE_1_3, ids=lambda row: row[0])
def test_the_text_table_is_table_1_3_with_bounds_to_the_decimals_of_its_estimates(
    row: tuple[str, ...],
) -> None:
    name, low, estimate, high, sum_sq, significant = row
    cells = read_row(name)
    for shown, printed in zip(cells[:4], (low, estimate, high, sum_sq), strict=True):
        decimals = min(len(printed.partition(".")[2]), 4)
        assert float(shown) == pytest.approx(float(printed), abs=0.51 * 10**-decimals)
        assert len(shown.partition(".")[2]) >= decimals
    assert (float(cells[6]) < 0.01) == significant


@pytest.mark.parametrize("row", TABLE_1_3, ids=lambda row: row[0])
def test_json_gives_every_printed_digit_of_table_1_3(row: tuple[str, ...]) -> None:
    name, low, estimate, high, sum_sq, _ = row
    content = json.loads(run_anova("--json"))
    (found,) = (item for item in content["coefficients"] if item["term"] == name)
    (square,) = (item["sum_sq"] for item in content["terms"] if item["term"] == name)
    shown = (found["low"], found["estimate"], found["high"], square)
    for number, printed in zip(shown, (low, estimate, high, sum_sq), strict=True):
        assert round_as_printed(number, printed) == printed


def test_the_error_row_and_r_squared_are_those_of_the_thesis() -> None:
    text = run_anova()
    error = next(line for line in text.splitlines() if line.startswith("Error"))
    assert error.split()[1:] == ["310.948733", "16"]
    assert "R^2 = 0.935926" in text


def test_the_equation_is_1_2_to_every_printed_digit() -> None:
    assert "y = 33.502 − 8.031 x1 + 9.882 x3 − 4.719 x1 × x2\n" in run_anova()


def test_the_text_fits_100_columns() -> None:
    assert max(len(line) for line in run_anova().splitlines()) <= 100


def test_json_gives_the_reference_digits() -> None:
    content = json.loads(run_anova("--json"))
    assert round(content["mean"]["estimate"], 6) == 33.501792
    estimates = {item["term"]: item["estimate"] for item in content["coefficients"]}
    for term in content["terms"]:
        estimate, sum_sq, p = REFERENCE[term["term"]]
        assert round(estimates[term["term"]], 6) == estimate
        assert round(term["sum_sq"], 6) == sum_sq
        assert f"{term['p']:.6g}" == f"{p:.6g}"
    assert round(content["error"]["sum_sq"], 6) == 310.948733
    assert content["error"]["df"] == 16
    assert round(content["r_squared"], 6) == 0.935926
    assert (content["n"], content["cells"], content["balanced"]) == (24, 8, True)
