"""`datamill analyze variance`, as a user types it, on good and on bad tables and on a bundle."""

import json
import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from made.synthetic import EXPERIMENT, fit_record, make_bundle_folder, make_phase, make_record
from msgspec import structs

import datamill
from datamill.cli.main import main

COLUMNS = ["version", "build", "execution", "measurement", "value"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in ("analyze", "variance", *arguments)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def ask(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    content = json.loads(out)
    assert isinstance(content, dict)
    return content


def plant(
    spread: tuple[float, float, float] = (3.0, 1.0, 2.0), versions: Sequence[str] = ("1.0",)
) -> pl.DataFrame:
    """Ten builds of five executions of twenty measurements of each version."""
    rng = np.random.default_rng(1)
    rows = []
    for version, build in product(versions, range(10)):
        at_build = 100 + rng.normal(0, spread[0])
        for execution in range(5):
            at_execution = at_build + rng.normal(0, spread[1])
            for measurement in range(20):
                value = float(at_execution + rng.normal(0, spread[2]))
                rows.append((version, build, execution, measurement, value))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def write(table: pl.DataFrame, folder: Path, name: str = "t.csv") -> Path:
    table.write_csv(folder / name)
    return folder / name


def test_the_first_line_says_where_the_uncertainty_is_and_what_will_not_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, write(plant(), tmp_path))
    assert status == 0, err
    answer = out.split("\n\n")[0].replace("\n", " ")
    first, interval = answer.split("% (95% interval ")[:2]
    assert 80 < float(first) < 100
    assert " of the uncertainty is between builds; more executions or measurements will not help" in interval
    assert "from 20 measurements in each of 5 executions of each of 10 builds." in answer
    assert "The impact factor of compilation is " in answer
    assert "it matters which build is measured" in answer
    assert max(map(len, out.splitlines())) <= 100


def test_where_measurements_vary_most_more_of_them_are_said_to_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.random.default_rng(3).normal(100, 5, size=900)
    table = pl.DataFrame({"execution": np.arange(900) // 3, "value": values})
    _, out, _ = run(capsys, write(table, tmp_path))
    answer = out.replace("\n", " ")
    assert "about this one build is between measurements; more measurements in each execution" in answer


def test_json_has_what_the_text_says_with_every_digit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ask(capsys, write(plant(), tmp_path))
    estimate = content["versions"][0]["estimate"]
    squares = estimate["mean_squares"]
    assert estimate["variances"]["build"] == pytest.approx(squares["build"] - squares["execution"] / 5)
    assert estimate["mean"]["low"] < estimate["mean"]["estimate"] < estimate["mean"]["high"]
    assert sum(share["estimate"] for share in estimate["uncertainty"].values()) == pytest.approx(1)
    assert content["versions"][0]["other_method"] is None
    assert content["warnings"] == []


def test_unbalanced_data_are_shown_by_both_methods_and_either_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = plant()
    file = write(table.filter(pl.Series(np.random.default_rng(2).random(table.height) < 0.5)), tmp_path)
    means, reml = ask(capsys, file), ask(capsys, file, "--method", "reml")
    assert means["versions"][0]["other_method"]["variances"] == reml["versions"][0]["estimate"]["variances"]
    assert "not balanced" in means["warnings"][0]
    _, out, _ = run(capsys, file)
    assert "Unbalanced data, by both methods" in out


def test_several_versions_are_named_in_the_answer_and_many_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, two, _ = run(capsys, write(plant(versions=("1.0", "1.1")), tmp_path))
    assert two.startswith("1.0: ")
    assert "\n1.1: " in two
    _, many, _ = run(capsys, write(plant(versions=[f"v{index}" for index in range(5)]), tmp_path))
    answer = many.split("\n\n")[0].replace("\n", " ")
    assert answer == (
        "The largest part of the uncertainty of the mean of value is between builds in 5 of 5 versions. "
        "Each version shows that it is more than half."
    )


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        (pl.col("build") == 0, "Not known: there is one build only"),
        (pl.col("execution") == 0, "Not known: each build has one execution"),
        (pl.col("measurement") == 0, "Not known: each execution has one measurement"),
        ((pl.col("build") == 0) & (pl.col("execution") == 0), "there is one execution only"),
    ],
)
def test_levels_that_are_not_repeated_are_said_to_be_unknown(
    keep: pl.Expr, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, write(plant().filter(keep), tmp_path))
    assert status == 0, err
    assert words in out
    assert "nan" not in out.lower()


def test_values_that_never_differ_are_reported_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(plant().with_columns(value=pl.lit(5.0)), tmp_path)
    status, out, err = run(capsys, file)
    assert status == 0, err
    assert out.startswith("All 1\u202f000 measurements of value are equal.\nEach is 5.")
    assert "nan" not in out.lower()
    assert ask(capsys, file)["versions"][0]["impact"]["factor"] is None


def test_a_warm_up_that_is_too_short_is_detected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = pl.when(pl.col("measurement") < 4).then(6.0).otherwise(0.0)
    _, out, _ = run(capsys, write(plant().with_columns(value=pl.col("value") + slow), tmp_path))
    assert "The warm-up is too short: leave out 4 more" in out.replace("\n  ", " ")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_the_figure_and_the_page_are_written(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure, page = tmp_path / f"f{suffix}", tmp_path / "page.html"
    status, _, err = run(capsys, write(plant(), tmp_path), "--figure", figure, "--html", page)
    assert status == 0, err
    assert figure.stat().st_size > 2000
    text = page.read_text(encoding="utf-8")
    assert "value by build" in text
    assert "Where the variance of value is" in text


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("version,value\na,1\na,2\nb,3\n", [], "b has one measurement of value"),
        ("version,value\n", [], "no rows"),
        ("version,seconds\na,1\n", [], 'no column "value"'),
        ("version,value\na,1\na,x\n", [], 't.csv:3: value is "x"'),
        ("version,build,value\na,1,1\na,,2\n", [], "t.csv:3"),
        ("version,value,unit\na,1,s\na,2,s\nb,1,ms\nb,2,ms\n", [], "cannot be compared"),
        ("response,value\nx,1\nx,2\ny,1\ny,2\n", [], "Choose one by --response: x, y"),
        ("response,value\nx,1\nx,2\n", ["--response", "z"], 'no response "z"'),
        ("value\n1\n2\n", ["--build", "bild"], 'no column "bild"'),
        ("execution,measurement,value\n1,1,1\n1,1,2\n", [], "stands there twice"),
        ("value\n1\n2\n", ["--method", "bayes"], "bayes"),
        ("value\n1\n2\n", ["--figure", "f.gif"], "cannot be written"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    content: str,
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(content, encoding="utf-8")
    status, _, err = run(capsys, file, *arguments)
    assert status == 2
    assert words in err
    assert "Traceback" not in err


def make_nested_bundle(folder: Path) -> Path:
    """Two packages at one level of each factor, three builds of each, two executions of a build."""
    text = EXPERIMENT.replace("replicates = 3", "").replace('["-O0", "-O2"]', '["-O2"]')
    text = text.replace('["on", "off"]', '["on"]') + "[replication]\nbuilds = 3\nexecutions = 2\n"
    bundle = make_bundle_folder(folder, text)
    rng = np.random.default_rng(4)
    records = []
    for trial in bundle.design.trials:
        record = make_record(
            trial.trial_id, package=trial.package, run=make_phase(10**9 + int(rng.integers(10**8)))
        )
        assert record.build is not None
        built = structs.replace(record.build, id=f"{trial.package}-{trial.build_seed}")
        records.append(structs.replace(record, build=built))
    bundle.write_table(records)
    return folder


def test_trials_of_a_bundle_are_executions_of_the_builds_that_they_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_nested_bundle(tmp_path / "bundle")
    content = ask(capsys, folder)
    assert (content["response"], content["unit"]) == ("rate", "B/s")
    assert [item["version"] for item in content["versions"]] == ["a", "b"]
    for item in content["versions"]:
        estimate = item["estimate"]
        assert [estimate[name] for name in ("builds", "executions", "measurements", "n")] == [3, 2, 1, 6]
    assert ask(capsys, folder, "--response", "wall_time_s")["unit"] == "s"
    status, _, err = run(capsys, folder, "--build", "worker")
    assert status == 2
    assert "datamill's own table" in err


def test_executions_of_one_build_are_no_replicates_for_the_other_verbs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_nested_bundle(tmp_path / "bundle")
    with pytest.raises(SystemExit):
        main(["analyze", "tests", str(folder), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert (content["n"], content["averaged_builds"]) == (6, 6)
    with pytest.raises(SystemExit):
        main(["analyze", "tests", str(folder)])
    assert "6 builds have several executions, averaged" in capsys.readouterr().out


def test_a_table_in_memory_gives_the_same_as_its_file(tmp_path: Path) -> None:
    table = plant()
    from_file, from_memory = datamill.variance(write(table, tmp_path)), datamill.variance(table)
    here, there = (item.versions[0].estimate for item in (from_file, from_memory))
    assert here.mean == there.mean
    assert here.uncertainty == there.uncertainty
    with pytest.raises(datamill.InputError, match="no argument"):
        datamill.variance(table, valeu="x")


def test_builds_under_another_name_are_asked_for_rather_than_taken_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(plant().rename({"build": "binary"}).drop("measurement"), tmp_path)
    out = " ".join(run(capsys, file)[1].split())
    assert "column binary is not used: if there is such a column among them, name the one that tells" in out
    assert "--build" in " ".join(ask(capsys, file)["warnings"])
    with pytest.raises(datamill.InputError) as caught:
        datamill.false_alarms(file)
    assert "binary" in caught.value.remedy
    assert "is not used" not in run(capsys, file, "--build", "binary")[1]


def test_what_an_interrupted_run_has_measured_is_analysed_and_the_rest_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = make_nested_bundle(tmp_path / "whole")
    bundle = make_bundle_folder(tmp_path / "killed", (whole / "experiment.toml").read_text())
    status, _, err = run(capsys, bundle.folder)
    assert status == 2
    assert "no trial of this experiment has ended yet" in err
    assert f"datamill run --resume {bundle.folder}" in " ".join(err.split())
    records = []
    for trial in bundle.design.trials[:-2]:
        record = make_record(
            trial.trial_id, package=trial.package, run=make_phase(10**9 + trial.order * 10**6)
        )
        assert record.build is not None
        built = structs.replace(record.build, id=f"{trial.package}-{trial.build_seed}")
        records.append(structs.replace(record, build=built))
    bundle.append_records([fit_record(record, bundle) for record in records])
    content = ask(capsys, bundle.folder, "--response", "wall_time_s")
    assert sum(item["estimate"]["n"] for item in content["versions"]) == 10
    assert f"2 of 12 trials have not run: continue it with datamill run --resume {bundle.folder}" in " ".join(
        content["warnings"]
    )
    compared = datamill.compare(bundle.folder, response="wall_time_s")
    assert any("2 of 12 trials have not run" in warning for warning in compared.warnings)
    # A table from before the last trials is not taken for the whole.
    bundle.write_table(records[:6])
    os.utime(bundle.table_file, (1, 1))
    again = ask(capsys, bundle.folder, "--response", "wall_time_s")
    assert sum(item["estimate"]["n"] for item in again["versions"]) == 10


def test_quantiles_of_a_nested_bundle_are_judged_by_builds_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_nested_bundle(tmp_path / "bundle")
    ask_quantiles = ["analyze", "quantiles", str(folder), "--quantiles", "0.5"]
    with pytest.raises(SystemExit):
        main(ask_quantiles)
    out = " ".join(capsys.readouterr().out.split())
    assert "n = 12 in 6 builds" in out
    assert "bootstrap of whole builds" in out
    assert "a design point has 3 builds: how much builds differ is hardly known" in out
    assert "trial" not in out
    assert "taken for independent" not in out
    with pytest.raises(SystemExit):
        main([*ask_quantiles, "--json"])
    content = json.loads(capsys.readouterr().out)
    assert (content["trials"], content["units"], content["errors"]) == (6, "builds", "cluster")
    with pytest.raises(SystemExit):
        main([*ask_quantiles, "--errors", "nid"])
    assert "if those of one build resemble each other" in " ".join(capsys.readouterr().out.split())


def test_tables_alone_come_as_a_paper_or_another_program_wants_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(plant(versions=("1.0", "1.1")), tmp_path)
    shown = {form: run(capsys, file, "--to", form)[1] for form in ("markdown", "latex", "csv")}
    assert "| version | builds |" in shown["markdown"]
    assert shown["latex"].count("\\begin{tabular}") == 3
    assert "group,level,SD" in shown["csv"]
    status, _, err = run(capsys, file, "--to", "csv", "--json")
    assert status == 2
    assert "--json and --to ask for two outputs" in err
