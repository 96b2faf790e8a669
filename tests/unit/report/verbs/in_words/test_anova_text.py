import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import datamill
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.observations import Observations
from datamill.cli.analyze import analyze
from datamill.experiment.errors import InputError
from datamill.report.anova.answer import state_effects
from datamill.report.anova.statement import state_anova
from datamill.report.tables.text import render_text


def lay_out(replicates: int, offset: float) -> list[str]:
    factors = [ModelFactor("a", ("0", "1")), ModelFactor("b", ("x", "y", "z"))]
    codes = np.array([point for point in product(range(2), range(3)) for _ in range(replicates)])
    values = offset + 1.5 * codes[:, 0] + np.random.default_rng(1).standard_normal(len(codes))
    cells = gather_cells(factors, codes, values)
    model = fit_linear_model(cells, order=2)
    text = render_text(state_anova(Observations("y", "", cells, 0, 0), model, None))
    return read_plainly(text.partition("Half-changes as shares")[0]).splitlines()


def read_rows(lines: list[str]) -> dict[str, list[str]]:
    """Cells by the name in front, which two blanks end."""
    rows = (re.split(r" {2,}", line.strip()) for line in lines if line)
    return {name: cells for name, *cells in rows}


def read_plainly(text: str) -> str:
    """The text with numbers as Python reads them: no thin spaces, no true minus."""
    return text.replace("\u202f", "").replace("\u2212", "-")


def test_cells_of_the_table_never_run_together() -> None:
    lines = read_rows(lay_out(50_000, 1e9))
    assert lines["Error"][-1] == "299994"
    assert lines["Total"][-1] == "299999"
    low, estimate, high, _, df, f, p = lines["a"]
    assert float(low) < float(estimate) < float(high)
    assert (df, float(f) > 1e4, p) == ("1", True, "< 1e-300")


def test_the_mean_has_decimals_of_its_own() -> None:
    lines = read_rows(lay_out(50, 1e9))
    low, estimate, high = (float(text) for text in lines["(mean)"])
    assert low < estimate < high
    assert estimate - 1e9 == pytest.approx(0.75, abs=0.2)
    assert high - low == pytest.approx(0.23, abs=0.02)
    # The effects show five figures of their error, about 0.1, whatever the mean needs.
    assert len(lines["a"][1].partition(".")[2]) == 5


def test_a_table_of_ordinary_size_fits_100_columns() -> None:
    assert max(len(line) for line in lay_out(50, 100.0)) == 100


def run(path: Path, text: str, *options: str) -> tuple[str, BaseException | None]:
    path.write_text(text)
    result = CliRunner().invoke(analyze, ["anova", str(path), *options])
    return result.output, result.exception


def test_json_has_null_for_a_statistic_beyond_all_numbers(tmp_path: Path) -> None:
    # Distances from the median: the same in each group, and different between the groups.
    rows = [("a", y) for y in (9, 9, 9, 11, 11, 11)] + [("b", y) for y in (8, 8, 8, 12, 12, 12)]
    text = "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows)
    output, error = run(tmp_path / "t.csv", text, "--response", "y", "--factors", "x", "--json")
    assert error is None, output
    (spread,) = (c for c in json.loads(output)["checks"] if c["assumption"] == "equal variances")
    assert (spread["statistic"], spread["p"]) == (None, 0.0)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_another_separator_is_named(mark: str, tmp_path: Path) -> None:
    text = "x,y\na,1\nb,2\n".replace(",", mark)
    _, error = run(tmp_path / "t.csv", text, "--response", "y", "--factors", "x")
    assert isinstance(error, InputError)
    assert "separated by" in error.message


@pytest.mark.parametrize("spelling", ["true", "True", "TRUE"])
def test_truth_in_a_tidy_table_may_be_spelled_in_either_case(spelling: str, tmp_path: Path) -> None:
    rows = [f"t{i},{'ab'[i % 2]},time,{i % 2 + i * i % 7},{spelling}\n" for i in range(12)]
    text = "trial_id,package,response,value,valid\n" + "".join([*rows, "t12,a,time,,false\n"])
    output, error = run(tmp_path / "t.csv", text, "--json")
    assert error is None, output
    assert (json.loads(output)["n"], json.loads(output)["excluded"]) == (12, 1)
    _, error = run(tmp_path / "t.csv", text, "--response", "value", "--factors", "package")
    assert isinstance(error, InputError)
    assert "The responses are: time." in error.remedy


def test_the_first_sentence_says_which_factor_moves_the_mean_and_by_how_much() -> None:
    factors = [ModelFactor("flag", ("off", "on")), ModelFactor("opt", ("0", "1", "2"))]
    codes = np.array([[flag, opt] for flag in (0, 1) for opt in (0, 1, 2) for _ in range(3)])
    noise = np.tile([-0.1, 0.0, 0.1], 6)
    # Of two differences of the same size rounding would choose, which is another on another processor.
    values = 10.0 + 2.0 * codes[:, 0] + np.array([0.0, 0.001, 3.0])[codes[:, 1]] + noise
    model = fit_linear_model(gather_cells(factors, codes, values), order=2)
    sentences = state_effects(model, "y", "")
    assert sentences[0].startswith("From 0 to 2, opt changes the mean y by +3.00 (95% interval ")
    assert sentences[0].endswith("+27.3% of the mean at 0 (the largest difference of 3 levels).")
    assert sentences[1].startswith("From off to on, flag changes the mean y by +2.0")
    assert sentences[1].endswith("+18.2% of the mean at off.")


def test_nothing_detected_is_said_with_alpha_and_n() -> None:
    codes = np.array([[0], [0], [0], [1], [1], [1]])
    values = np.array([1.0, 2.0, 3.0, 1.1, 2.2, 2.8])
    model = fit_linear_model(gather_cells([ModelFactor("flag", ("off", "on"))], codes, values), order=1)
    assert state_effects(model, "y", "") == ("No effect on the mean y was detected (alpha = 0.01, n = 6).",)


@pytest.mark.parametrize(("offset", "size"), [(1e12, 1.0), (1e15, 4.0), (0.0, 1e-100), (1e-97, 1e-100)])
def test_neither_offset_nor_unit_rounds_an_effect_to_nothing(offset: float, size: float) -> None:
    codes = np.repeat([[0], [1]], 8, axis=0)
    noise = np.tile([-0.5, -0.25, 0.25, 0.5], 4)
    values = offset + size * (2.0 * codes[:, 0] + noise)
    cells = gather_cells([ModelFactor("flag", ("off", "on"))], codes, values)
    model = fit_linear_model(cells, order=1)
    (sentence,) = state_effects(model, "y", "")
    shown = re.search(r"by (\S+) \(95% interval (\S+) to ([^)\s]+)\)", sentence)
    assert shown is not None, sentence
    estimate, low, high = (float(text.replace("\u2212", "-")) for text in shown.groups())
    assert estimate == pytest.approx(2 * size, rel=1e-2)
    assert low < estimate < high
    text = read_plainly(render_text(state_anova(Observations("y", "", cells, 0, 0), model, None)))
    assert "0.000000000000" not in text
    power = re.search(r"Analysis of variance of y \(× (\S+)\)", text)
    unit = float(power[1]) if power else 1.0
    (mean,) = (line.split()[1:4] for line in text.splitlines() if line.startswith("(mean)"))
    assert float(mean[0]) < float(mean[1]) < float(mean[2])
    shares = re.search(r"flag +(\S+)% +(\S+)%", text)
    assert shares is None or (float(shares[1]) > 0 and float(shares[2]) > 0)
    (equation,) = (line for line in text.splitlines() if line.startswith("y = "))
    assert unit * float(equation.split()[-2]) == pytest.approx(size, rel=1e-2)


def test_an_estimate_that_rounds_to_zero_has_no_sign() -> None:
    factors = [ModelFactor("a", ("0", "1")), ModelFactor("b", ("0", "1"))]
    codes = np.array([(a, b) for a in range(2) for b in range(2) for _ in range(2)])
    values = 10.0 * codes[:, 0] + np.tile([-1.0, 1.0], 4) - 1e-13 * codes[:, 1]
    cells = gather_cells(factors, codes, values)
    model = fit_linear_model(cells, order=2)
    text = read_plainly(render_text(state_anova(Observations("y", "", cells, 0, 0), model, None)))
    assert re.search(r"\nb +-\d.* 0\.0000", text)
    assert not re.search(r"-0\.0+( |$)", text)


def test_the_table_is_in_the_unit_that_suits_the_mean() -> None:
    factors = [ModelFactor("a", ("0", "1"))]
    codes = np.repeat([[0], [1]], 20, axis=0)
    values = 4e-9 + 1e-9 * codes[:, 0] + 1e-10 * np.random.default_rng(1).standard_normal(40)
    small, plain = (gather_cells(factors, codes, values * factor) for factor in (1.0, 1e9))
    text, same = (
        render_text(state_anova(Observations("y", unit, cells, 0, 0), fit_linear_model(cells, order=1), None))
        for unit, cells in (("s", small), ("ns", plain))
    )
    assert "Analysis of variance of y (ns)" in text
    assert text == same
    assert "y = 4.5003 + 0.4965 a" in text


def measure_rates(unit: str) -> tuple[Observations, str]:
    """Throughputs of 1.5 million on two factors, and the text of their model."""
    factors = [ModelFactor("a", ("0", "1")), ModelFactor("b", ("x", "y", "z"))]
    codes = np.array([(a, b) for a in range(2) for b in range(3) for _ in range(6)])
    noise = 2e4 * np.random.default_rng(1).standard_normal(36)
    observations = Observations(
        "rate", unit, gather_cells(factors, codes, 1.5e6 + 2e5 * codes[:, 0] + noise), 0, 0
    )
    return observations, render_text(
        state_anova(observations, fit_linear_model(observations.cells, order=2), None)
    )


@pytest.mark.parametrize(("unit", "shown"), [("B/s", "MB/s"), ("", "million"), ("{req}/s", "million req/s")])
def test_no_number_of_the_table_needs_an_exponent_where_a_unit_can_say_it(unit: str, shown: str) -> None:
    _, text = measure_rates(unit)
    table = text.partition("Half-changes as shares")[0]
    assert f"Analysis of variance of rate ({shown})" in table
    assert "e+" not in table
    mean = next(line for line in table.splitlines() if line.startswith("(mean)"))
    assert re.search(r" 1\.5\d+ ", mean) or re.search(r" 1\.6\d+ ", mean), mean
    assert re.search(rf"error mean square = \S+ \({shown}\)²|error mean square = \S+ {shown}²", table)


def test_a_model_without_a_unit_has_no_square_of_one() -> None:
    assert "²" not in "\n".join(lay_out(5, 10.0))


def test_numbers_of_the_table_have_a_true_minus_and_columns_two_blanks_apart() -> None:
    _, text = measure_rates("B/s")
    table = text.partition("Half-changes as shares")[0].partition("Analysis of variance")[2]
    rows = [line for line in table.splitlines() if re.match(r"\(mean\)|a |b |  [xyz] |Error|Total", line)]
    assert len(rows) >= 7
    assert not [row for row in rows if re.search(r"(?<![e0-9])-\d", row)]
    assert not [row for row in rows if re.search(r"\d \d", row.replace("\u202f", ""))]


def test_an_interaction_has_one_form_for_people_and_the_formulas_for_programs(tmp_path: Path) -> None:
    rows = [
        f"{a},{b},{10 + 3 * (a == b) + 0.01 * (i * 7 % 5)}" for i in range(6) for a in "uv" for b in "uvw"
    ]
    text = "a,b,y\n" + "\n".join(rows) + "\n"
    for verb in ("anova", "quantiles"):
        file = tmp_path / f"{verb}.csv"
        file.write_text(text)
        page = tmp_path / f"{verb}.html"
        options = ["--response", "y", "--factors", "a,b", "--html", str(page)]
        result = CliRunner().invoke(analyze, [verb, str(file), *options])
        assert result.exception is None, result.output
        assert "a × b" in result.output
        assert "a:b" not in result.output
        shown = re.sub(r"<(script|style).*?</\1>", "", page.read_text(), flags=re.DOTALL)
        assert "a × b" in shown
        assert "a:b" not in shown
        content = json.loads(CliRunner().invoke(analyze, [verb, str(file), *options[:4], "--json"]).output)
        for_people = (*content.pop("answer"), *content.pop("warnings"))
        assert "a:b" not in " ".join(for_people)
        numbers = json.dumps(content, ensure_ascii=False)
        assert '"a:b' in numbers
        assert "×" not in numbers


def test_notes_point_to_means_by_level_only_where_these_were_printed() -> None:
    table = pl.DataFrame({"f": ["a", "b"] * 10, "x": range(20), "y": [i % 2 + i % 3 / 10 for i in range(20)]})
    printed = str(datamill.anova(table, formula="y ~ f"))
    without = str(datamill.anova(table, formula="y ~ f + x"))
    for said, tabled in ((printed, True), (without, False)):
        assert ("Means of y by level" in said) == tabled
        assert ("means by level above" in " ".join(said.split())) == tabled
    assert "half of what lies between low and high." in " ".join(without.split())


def test_what_is_left_to_chance_bounds_what_hidden_factors_did() -> None:
    text = " ".join(lay_out(20, 0.0))
    told = re.search(r"Chance accounts for ([\d.]+)% of the variation", text)
    fit = re.search(r"R\^2 = ([\d.]+)", text)
    assert told is not None
    assert fit is not None
    assert float(told[1]) == pytest.approx(100 * (1 - float(fit[1])), abs=0.5)
    assert "all hidden factors together, as they varied over these trials, did no more" in text
