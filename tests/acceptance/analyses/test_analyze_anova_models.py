"""`datamill analyze anova` with formulas, covariates, blocks, trials, figures; and what it refuses."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from datamill.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in ("analyze", "anova", *arguments)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def make_table(n: int = 120, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    opt, aslr = rng.choice(["O0", "O2", "O3"], n), rng.choice(["off", "on"], n)
    day = np.array([f"day{i * 4 // n}" for i in range(n)])
    size, when = rng.uniform(1, 9, n), 1_700_000_000_000_000_000 + np.arange(n) * 10**9
    y = 20 + 3 * (opt == "O0") + 0.5 * size + (np.arange(n) * 4 // n) + rng.standard_normal(n)
    columns = {"opt": opt, "aslr": aslr, "day": day, "size": size, "when": when, "y": y}
    return pl.DataFrame(columns)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    make_table().write_csv(path)
    return path


def read(out: str) -> dict:
    return dict(json.loads(out))


def test_the_terms_of_a_formula_are_those_of_the_table_no_more_and_no_fewer(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, table, "--formula", "y ~ opt + aslr + opt:size + size", "--json")
    assert status == 0, err
    content = read(out)
    assert [row["term"] for row in content["terms"]] == ["opt", "aslr", "size", "opt:size"]
    assert [row["df"] for row in content["terms"]] == [2, 1, 1, 2]
    assert content["covariates"][0]["mean"] == pytest.approx(make_table()["size"].mean())
    assert all(row["p_holm"] >= row["p"] for row in content["terms"])


def test_each_type_of_sums_of_squares_is_named_and_differs_where_terms_overlap(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    squares = {}
    for kind in ("I", "II", "III"):
        content = read(run(capsys, table, "--formula", "y ~ opt * aslr + size", "--type", kind, "--json")[1])
        assert f"Type {kind}," in content["method"]
        squares[kind] = [row["sum_sq"] for row in content["terms"]]
    assert squares["I"][0] != pytest.approx(squares["II"][0], rel=1e-3)
    assert squares["II"][0] != pytest.approx(squares["III"][0], rel=1e-6)
    assert squares["II"][-1] == pytest.approx(squares["III"][-1])
    total = sum(squares["I"]) + content["error"]["sum_sq"]
    assert total == pytest.approx(content["total"]["sum_sq"])


def test_blocks_stand_apart_and_their_gain_is_told_in_words(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (table, "--formula", "y ~ opt + size", "--blocks", "day")
    content = read(run(capsys, *arguments, "--json")[1])
    assert [(row["term"], row["block"]) for row in content["terms"]] == [
        ("day", True), ("opt", False), ("size", False),
    ]  # fmt: skip
    assert content["terms"][0]["p_holm"] is None
    assert content["blocks"]["efficiency"] > 1.5
    out = run(capsys, *arguments)[1]
    assert "day (block)" in out
    assert "Blocking gained precision" in out
    assert "day" not in out.partition("Effects as shares")[2].partition("p (Holm) is")[0]


def test_the_reduced_table_has_mean_squares_and_p_values_of_all_terms(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (table, "--response", "y", "--factors", "opt,aslr")
    content = read(run(capsys, *arguments, "--json")[1])
    printed = run(capsys, *arguments, "--reduce")[1].splitlines()
    lines = printed[printed.index("Analysis of variance of y") :]
    assert lines[2].split() == ["Factor", "Mean", "Sq.", "p-value"]
    rows = [line.replace(" × ", ":").split() for line in lines[4:8]]
    assert [row[0] for row in rows] == ["opt", "aslr", "opt:aslr", "Residuals"]
    for row, term in zip(rows, content["terms"], strict=False):
        assert float(row[1]) == pytest.approx(term["mean_sq"], rel=1e-5)
        assert float(row[2]) == pytest.approx(term["p"], rel=1e-2)
    assert float(rows[3][1]) == pytest.approx(content["error"]["mean_sq"], rel=1e-5)


def test_rows_of_one_trial_are_averaged_and_never_counted_as_replicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    rows = []
    for trial in range(24):
        level = rng.standard_normal()
        rows += [(f"t{trial}", "ab"[trial % 2], 5 + level + 0.01 * rng.standard_normal()) for _ in range(50)]
    table = pl.DataFrame(rows, schema=["trial", "package", "y"], orient="row")
    table.write_csv(tmp_path / "t.csv")
    means = table.group_by("trial", maintain_order=True).agg(pl.col("package").first(), pl.col("y").mean())
    means.write_csv(tmp_path / "means.csv")
    options = ("--response", "y", "--factors", "package", "--json")
    content = read(run(capsys, tmp_path / "t.csv", *options, "--trial", "trial")[1])
    by_hand = read(run(capsys, tmp_path / "means.csv", *options)[1])
    assert (content["n"], content["averaged_trials"]) == (24, 24)
    assert content["terms"][0]["p"] == pytest.approx(by_hand["terms"][0]["p"], rel=1e-9)
    out = run(capsys, tmp_path / "t.csv", *options[:-1], "--trial", "trial")[1]
    assert "24 trials have several observations, which were averaged first" in out
    mixed = table.with_columns(pl.Series("phase", ["x", "y"] * 600))
    mixed.write_csv(tmp_path / "mixed.csv")
    arguments = (tmp_path / "mixed.csv", "--response", "y", "--factors", "phase", "--trial", "trial")
    status, _, err = run(capsys, *arguments)
    assert (status, "factor phase changes within a trial" in err, "--blocks trial" in err) == (2, True, True)


def test_a_covariate_with_a_huge_offset_loses_no_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = make_table()
    shifted = plain.with_columns(size=pl.col("size").round(3) + 2.0**40)
    near = plain.with_columns(size=shifted["size"] - 2.0**40)
    found = []
    for name, data in (("far", shifted), ("near", near)):
        data.write_parquet(tmp_path / f"{name}.parquet")
        content = read(run(capsys, tmp_path / f"{name}.parquet", "--formula", "y ~ opt*size", "--json")[1])
        found.append([row["sum_sq"] for row in content["terms"]] + [row["p"] for row in content["terms"]])
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_failing_assumptions_are_told_with_a_recommendation_and_quantiles_beside_the_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    sched = np.repeat(["bfs", "cfs"], 2000)
    y = 100 * np.exp(np.where(sched == "cfs", 1.0, 0.2) * rng.standard_normal(4000))
    pl.DataFrame({"sched": sched, "y": y}).write_csv(tmp_path / "t.csv")
    arguments = (tmp_path / "t.csv", "--response", "y", "--factors", "sched")
    out = run(capsys, *arguments)[1]
    assert "FAILS    equal variances: the spread is not the same everywhere" in out
    assert "trust the quantile regression" in out
    assert "median" in out
    assert "=> Trust the columns of the quantiles" in out
    content = read(run(capsys, *arguments, "--json")[1])
    assert content["trust"] == "quantiles"
    assert [fit["quantile"] for fit in content["quantiles"]] == [0.5, 0.9]
    sizes = [fit["coefficients"][1]["estimate"] for fit in content["quantiles"]]
    assert abs(sizes[0]) < 10 < sizes[1]
    assert read(run(capsys, *arguments, "--json", "--no-quantiles")[1])["quantiles"] == []


def test_sound_data_are_told_so_and_get_no_quantiles(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (table, "--formula", "y ~ opt + size", "--blocks", "day", "--run-order", "when")
    content = read(run(capsys, *arguments, "--json")[1])
    assert content["trust"] == "means"
    assert content["quantiles"] == []
    assert {check["state"] for check in content["checks"]} == {"held"}
    assert len(content["checks"]) == 5
    assert content["most_influential"]["influential"] is False
    assert "the run order" in run(capsys, *arguments)[1]
    # Without the blocks the days' drift is found, and only so where the order is known.
    drifting = (table, "--formula", "y ~ opt + size", "--json")
    known = read(run(capsys, *drifting, "--run-order", "when")[1])["checks"]
    assert "failed" in [check["state"] for check in known if check["assumption"].endswith("trend")]
    unknown = read(run(capsys, *drifting)[1])["checks"]
    assert "unknown" in [check["state"] for check in unknown if check["assumption"].endswith("trend")]


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "json"])
def test_figures_are_written_in_the_format_that_the_name_asks_for(
    suffix: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    effects, diagnostics = tmp_path / f"effects.{suffix}", tmp_path / f"diagnostics.{suffix}"
    status, _, err = run(
        capsys, table, "--formula", "y ~ opt*aslr + size", "--figure", effects, "--diagnostics", diagnostics
    )
    assert status == 0, err
    for file in (effects, diagnostics):
        start = file.read_bytes()[:200].lstrip()
        signs = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!DOCTYPE html>", "json": b"{"}
        assert start.startswith(signs[suffix])


def test_figures_of_many_observations_stay_small_and_keep_the_extremes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    n = 400_000
    y = rng.standard_normal(n)
    y[[17, 90_000]] = (60.0, -45.0)
    pl.DataFrame({"g": rng.choice(["a", "b"], n), "y": 100 + y}).write_parquet(tmp_path / "t.parquet")
    figure = tmp_path / "d.json"
    arguments = (tmp_path / "t.parquet", "--response", "y", "--factors", "g", "--diagnostics", figure)
    assert run(capsys, *arguments, "--no-quantiles")[0] == 0
    text = figure.read_text()
    assert len(text) < 400_000
    shown = [row["residual"] for row in _find_values(json.loads(text)) if "fitted" in row]
    assert max(shown) == pytest.approx(60, rel=0.05)
    assert min(shown) == pytest.approx(-45, rel=0.05)


def _find_values(content: object) -> list[dict]:
    if isinstance(content, dict):
        return [row for value in content.values() for row in _find_values(value)] + (
            [content] if "residual" in content else []
        )
    return [row for item in content for row in _find_values(item)] if isinstance(content, list) else []


BAD = {
    "aliased factors": ("y ~ opt + twin", "of opt and twin cannot be told apart", 2),
    "aliased covariate": ("y ~ size + double", "size and double cannot be told apart", 2),
    "constant covariate": ("y ~ opt + same", "covariate same is 7 everywhere", 2),
    "no margins": ("y ~ opt + opt:aslr", "but not aslr", 2),
    "unknown column": ("y ~ opt + nosuch", 'no column "nosuch"', 2),
    "more coefficients than observations": ("y ~ C(id)", "cannot estimate", 2),
    "not a formula": ("y ~ opt +", "is not a model formula", 2),
}


@pytest.mark.parametrize("case", BAD)
def test_models_that_cannot_be_fitted_are_refused_with_a_reason(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formula, message, status = BAD[case]
    data = make_table(60).with_columns(
        twin=pl.col("opt") + "!", double=2 * pl.col("size"), same=pl.lit(7), id=pl.int_range(60)
    )
    data.write_csv(tmp_path / "t.csv")
    got, out, err = run(capsys, tmp_path / "t.csv", "--formula", formula)
    assert (got, out) == (status, "")
    assert message in err
    assert "Traceback" not in err


def test_the_effect_of_aliased_factors_is_given_to_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    compiler = rng.integers(0, 2, 80)
    flag = np.where(rng.random(80) < 0.8, compiler, 1 - compiler)
    columns = {
        "compiler": compiler,
        "host": compiler,
        "flag": flag,
        "y": 10 * compiler + rng.normal(0, 1, 80),
    }
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    arguments = (tmp_path / "t.csv", "--response", "y", "--order", "1", "--factors")
    status, out, err = run(capsys, *arguments, "compiler,host,flag")
    assert (status, out) == (2, "")
    assert "the effects of compiler and host cannot be told apart" in err
    assert "flag" not in err


def test_a_covariate_named_twice_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for factors in ("opt", "size"):
        arguments = ("--response", "y", "--factors", factors, "--covariates", "size,size")
        status, out, err = run(capsys, table, *arguments)
        assert (status, out, '"size" is named twice' in err) == (2, "", True)


def test_a_logarithm_is_told_as_a_factor_and_never_in_percent_of_its_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    seconds = np.exp(rng.normal(0, 0.1, 40) + 0.3 * (np.arange(40) % 2))
    leads = []
    for factor in (1, 1000):
        pl.DataFrame({"a": ["off", "on"] * 20, "y": seconds * factor}).write_csv(tmp_path / "t.csv")
        status, out, err = run(
            capsys, tmp_path / "t.csv", "--formula", "log10(y) ~ a", "--html", tmp_path / "t.html"
        )
        assert status == 0, err
        assert "% of the mean" not in out
        assert "of a transformed response they would depend on its unit" in " ".join(out.split())
        leads.append(" ".join(out.split()).partition(" Analysis of variance")[0])
    ratio = np.exp(np.mean(np.log(seconds[1::2])) - np.mean(np.log(seconds[::2])))
    assert f"which is a factor of {ratio:.3f} " in leads[0]
    assert leads[0] == leads[1]


def test_an_unknown_block_and_a_block_that_is_a_factor_are_refused(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--response", "y", "--factors", "opt,aslr")
    status, _, err = run(capsys, table, *options, "--blocks", "machine")
    assert (status, 'no column "machine"' in err) == (2, True)
    status, _, err = run(capsys, table, *options, "--blocks", "opt")
    assert (status, "named twice" in err) == (2, True)


def test_a_figure_of_another_kind_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--response", "y", "--factors", "opt,aslr")
    status, _, err = run(capsys, table, *options, "--figure", table.parent / "figure.bmp")
    assert (status, ".svg" in err) == (2, True)


def test_a_wide_parquet_table_is_read_by_its_needed_columns_and_misses_are_told_with_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.parquet"
    make_table().with_columns(extra=pl.lit("unused")).write_parquet(path)
    narrow = run(capsys, path, "--formula", "y ~ opt + size", "--json")
    make_table().write_csv(tmp_path / "t.csv")
    assert narrow == run(capsys, tmp_path / "t.csv", "--formula", "y ~ opt + size", "--json")
    status, _, err = run(capsys, path, "--formula", "y ~ opt + nosuch")
    assert (status, "extra" in err) == (2, True)


def test_blocks_of_a_tidy_table_are_no_factors_of_interest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(6)
    rows = [
        (f"t{i}", "ab"[i % 2], f"m{i // 2 % 3}", "time", float(i % 2 + i // 2 % 3 + rng.random()), True)
        for i in range(48)
    ]
    names = ["trial_id", "package", "machine", "response", "value", "valid"]
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(tmp_path / "t.parquet")
    content = read(run(capsys, tmp_path / "t.parquet", "--blocks", "machine", "--json")[1])
    assert [(row["term"], row["block"]) for row in content["terms"]] == [
        ("machine", True), ("package", False),
    ]  # fmt: skip


def make_tidy(n: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = [
        (f"t{trial}", "ab"[trial % 2], "time", at, trial % 5 + rng.random(), True, float(at + trial % 3), at)
        for trial in range(n // 5)
        for at in range(5)
    ]
    names = ["trial_id", "package", "response", "measurement", "value", "valid", "warmth", "when"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_a_covariate_that_varies_within_a_trial_is_averaged_and_a_factor_that_does_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_tidy().write_csv(tmp_path / "t.csv")
    arguments = (tmp_path / "t.csv", "--factors", "package")
    content = read(run(capsys, *arguments, "--covariates", "warmth", "--json")[1])
    assert (content["n"], content["averaged_trials"]) == (8, 8)
    status, _, err = run(capsys, tmp_path / "t.csv", "--factors", "package,when")
    assert (status, "factor when changes within a trial" in err) == (2, True)
    status, _, err = run(capsys, *arguments, "--blocks", "when")
    assert (status, "factor when changes within a trial" in err) == (2, True)


def test_a_tidy_table_takes_a_run_order_and_refuses_another_trial_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_tidy(200).write_csv(tmp_path / "t.csv")
    arguments = (tmp_path / "t.csv", "--factors", "package")
    status, _, err = run(capsys, *arguments, "--trial", "when")
    assert (status, "--trial when cannot be used" in err) == (2, True)
    methods = [check["method"] for check in read(run(capsys, *arguments, "--json")[1])["checks"]]
    ordered = read(run(capsys, *arguments, "--run-order", "warmth", "--json")[1])["checks"]
    assert methods != [check["method"] for check in ordered]


def test_numbers_of_a_tidy_table_are_covariates_in_a_formula_as_in_any_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_tidy().write_csv(tmp_path / "t.csv")
    content = read(run(capsys, tmp_path / "t.csv", "--formula", "time ~ package + warmth", "--json")[1])
    assert [item["name"] for item in content["covariates"]] == ["warmth"]
