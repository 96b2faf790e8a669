"""`datamill analyze quantiles`, as a user types it, on good and on bad tables."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from made.synthetic import make_bundle_folder, make_phase, make_record

from datamill.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in ("analyze", "quantiles", *arguments)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def make_table(rows: int = 4000, seed: int = 1) -> pl.DataFrame:
    """A scheduler that acts on the slowest tenth alone, and a machine that acts on all."""
    rng = np.random.default_rng(seed)
    sched, machine = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    latency = (10 + machine) * rng.lognormal(0, 0.2, rows)
    slow = rng.random(rows) < 0.1
    latency += slow * (1 + 2 * sched) * 20 * rng.exponential(1, rows)
    return pl.DataFrame(
        {
            "sched": np.array(["BFS", "CFS"])[sched],
            "machine": np.array(["a", "b", "c"])[machine],
            "size": rng.uniform(1, 9, rows),
            "run": np.arange(rows) // 20,
            "when": np.arange(rows),
            "latency": latency,
        }
    )


OPTIONS = ("--response", "latency", "--factors", "sched,machine")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    make_table().write_csv(path)
    return path


def test_few_quantiles_have_the_papers_table_each(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, table, *OPTIONS, "--quantiles", "0.5,0.95")
    assert (status, err) == (0, "")
    assert out.startswith("From BFS to CFS, sched changes the 0.95 quantile of latency by +")
    assert "at the median no effect was detected" in " ".join(out.split())
    lines = out.splitlines()
    headers = [line.split() for line in lines if line.startswith("Factor")]
    assert headers == [["Factor", "Low", "95%", "Estimate", "High", "95%", "p-value"]] * 2
    # Each level of a factor with three has a line of its own, beneath the term and its joint test.
    start = next(i for i, line in enumerate(lines) if line.startswith("machine"))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == ["a", "b", "c"]
    assert lines[start].endswith("*")
    assert "n = 4 000" in out.replace("\u202f", " ")
    assert "errors (binomial)" in out
    assert max(map(len, lines)) <= 100


def test_ten_quantiles_have_an_overview_and_the_table_of_the_highest(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, table, *OPTIONS)
    assert status == 0
    assert "Effect at quantile" in out
    assert "Effects on the 0.99 quantile" in out
    assert "Effects on the median" not in out
    assert max(map(len, out.splitlines())) <= 100


def test_json_has_every_digit_and_every_method_its_name(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for errors in ("auto", "nid", "kernel", "iid", "rank"):
        options = (*OPTIONS, "--order", "1", "--quantiles", "0.1:0.9:0.4,0.95", "--errors", errors, "--json")
        status, out, err = run(capsys, table, *options)
        assert (status, err) == (0, "")
        content = json.loads(out)
        assert content["errors"] == ("binomial" if errors == "auto" else errors)
        assert [fit["quantile"] for fit in content["quantiles"]] == [0.1, 0.5, 0.9, 0.95]
        for fit in content["quantiles"]:
            names = [row["name"] for row in fit["coefficients"]]
            assert names == ["intercept", "sched", "machine[a]", "machine[b]"]
            for row in fit["coefficients"]:
                assert row["low"] <= row["estimate"] <= row["high"]
        if errors == "iid":
            assert any("wrong where the spread differs" in warning for warning in content["warnings"])


def test_trials_with_several_rows_and_blocks_in_time_have_their_own_errors(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = (*OPTIONS, "--order", "1", "--quantiles", "0.5", "--json")
    _, out, _ = run(capsys, table, *own, "--trial", "run", "--run-order", "when")
    content = json.loads(out)
    assert (content["errors"], content["trials"]) == ("cluster", 200)
    # A trial with rows of several levels is no execution at one design point: that is said.
    assert any("trials span several combinations" in warning for warning in content["warnings"])
    _, out, _ = run(capsys, table, *own, "--run-order", "when", "--errors", "block", "--replicates", "99")
    assert json.loads(out)["errors"] == "block"
    _, out, _ = run(capsys, table, *own, "--trial", "run", "--errors", "binomial")
    assert any("take as independent" in warning for warning in json.loads(out)["warnings"])


def test_a_covariate_has_a_slope_by_a_formula(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--formula", "latency ~ sched + log(size)", "--quantiles", "0.5", "--replicates", "99")
    _, out, _ = run(capsys, table, *options, "--json")
    content = json.loads(out)
    assert content["errors"] == "rows"
    assert [row["name"] for row in content["quantiles"][0]["coefficients"]][-1] == "log(size)"


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_the_figure_is_written(
    suffix: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"effects.{suffix}"
    assert run(capsys, table, *OPTIONS, "--figure", file)[0] == 0
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == "png" else b"<")
    if suffix == "svg":
        for name in ("intercept", "sched", "machine (a)", "sched × machine (b)"):
            assert name in content.decode()


def test_streamed_rows_give_the_numbers_of_rows_in_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.parquet"
    make_table(300_000).write_parquet(path, row_group_size=50_000)
    for order in ("1", "2"):
        options = (*OPTIONS, "--order", order, "--quantiles", "0.1,0.5,0.99", "--json", "--errors", "nid")
        whole = json.loads(run(capsys, path, *options)[1])
        streamed = json.loads(run(capsys, path, *options, "--stream")[1])
        assert (streamed["n"], streamed["cells"]) == (whole["n"], whole["cells"])
        for one, other in zip(whole["quantiles"], streamed["quantiles"], strict=True):
            assert other["objective"] == pytest.approx(one["objective"], rel=1e-12)
            for ours, theirs in zip(one["coefficients"], other["coefficients"], strict=True):
                for key in ("estimate", "low", "high", "standard_error"):
                    assert theirs[key] == pytest.approx(ours[key], rel=1e-9, abs=1e-10)


def test_a_bundle_needs_neither_response_nor_factors_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    bundle.write_table(
        [
            make_record(
                trial.trial_id,
                package=trial.package,
                run=make_phase(10**9 + 7**index % 10**6 + 10**8 * (trial.package == "a")),
            )
            for index, trial in enumerate(bundle.design.trials)
        ]
    )
    status, out, err = run(capsys, bundle.folder, "--quantiles", "0.5", "--json")
    assert status == 0, err
    assert json.loads(out)["response"] == "rate"


def test_the_help_says_where_the_signs_of_effects_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--help")
    text = " ".join(out.split())
    assert "other labels in reading order" in text
    assert "unlike its table.parquet alone" in text


BAD = {
    "quantile 0": (("--quantiles", "0"), "the quantile 0 is not between 0 and 1"),
    "quantile 99": (("--quantiles", "99"), "Write the 99th percentile as 0.99"),
    "no quantile": (("--quantiles", ","), "no quantile is asked for"),
    "no number": (("--quantiles", "median"), '"median" is neither a quantile nor a range'),
    "empty range": (("--quantiles", "0.9:0.1:0.1"), "neither a quantile nor a range"),
    "too many": (("--quantiles", "0.0001:0.9999:0.0000001"), "more than 1000 quantiles"),
    "no trials": (("--errors", "cluster"), "several observations in a trial"),
    "no order": (("--errors", "block"), "--run-order"),
    "figure": (("--figure", "effects.gif"), "End the name in one of"),
    "stream of CSV": (("--stream",), "cannot be read"),
    "stream by bootstrap": (("--stream", "--errors", "rows"), "need the data in memory"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_asked_ends_with_status_2_and_a_remedy(
    case: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, message = BAD[case]
    status, out, err = run(capsys, table, *OPTIONS, *options)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


BAD_TABLES = {
    "aliased": ("f,g,y\n" + "a,u,1\na,u,2\nb,v,3\nb,v,5\n" * 3, "f,g", "effects of f and g cannot be"),
    "constant": ("f,y\n" + "a,1\nb,1\n" * 3, "f", "the response is constant"),
    "one level": ("f,y\n" + "a,1\na,2\n" * 3, "f", "only one level"),
    "too few": ("f,y\na,1\nb,2\n", "f", "2 observations cannot estimate 2 coefficients"),
    "not finite": ("f,y\n" + "a,1\nb,inf\n" * 3, "f", 't.csv:3: y is "inf"'),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_table_that_cannot_answer_says_where_and_what(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, factors, message = BAD_TABLES[case]
    path = tmp_path / "t.csv"
    path.write_text(text)
    status, out, err = run(capsys, path, "--response", "y", "--factors", factors, "--quantiles", "0.5")
    assert (status, out) == (2, "")
    assert message in err
    assert "t.csv" in err


def test_an_empty_combination_leaves_out_the_interaction_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    make_table(600).filter((pl.col("sched") == "BFS") | (pl.col("machine") != "c")).write_csv(path)
    _, out, _ = run(capsys, path, *OPTIONS, "--quantiles", "0.5", "--json")
    content = json.loads(out)
    assert content["not_estimable"] == ["sched:machine"]
    assert any("1 of 6 combinations" in warning for warning in content["warnings"])


def test_a_quantile_too_extreme_for_the_data_is_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    make_table(240).write_csv(path)
    _, out, _ = run(capsys, path, *OPTIONS, "--quantiles", "0.5,0.99", "--json")
    content = json.loads(out)
    assert [fit["extreme"] for fit in content["quantiles"]] == [False, True]
    assert any("the 0.99 quantile needs about 368 in each cell" in text for text in content["warnings"])


def test_an_aliased_covariate_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    make_table(200).with_columns((3 + 2 * pl.col("size")).alias("bytes")).write_csv(path)
    options = ("--response", "latency", "--factors", "sched", "--covariates", "size,bytes")
    status, _, err = run(capsys, path, *options)
    assert status == 2
    assert "the effects of size and bytes cannot be told apart" in err


def test_a_bundles_alpha_is_that_of_its_quantiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    records = [
        make_record(trial.trial_id, package=trial.package, run=make_phase(10**9 + 7**index % 10**6))
        for index, trial in enumerate(bundle.design.trials)
    ]
    bundle.write_table(records)
    assert bundle.experiment.alpha == 0.01
    for given, alpha in (((), 0.01), (("--alpha", "0.2"), 0.2)):
        status, out, err = run(capsys, bundle.folder, "--quantiles", "0.5", "--json", *given)
        assert status == 0, err
        assert json.loads(out)["alpha"] == alpha


def test_a_decimal_comma_in_a_quantile_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, tmp_path / "t.csv", "--quantiles", "0,5")
    assert status == 2
    assert "Write 0.5 with a point" in err
