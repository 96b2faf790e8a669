"""`datamill analyze tests`, `variability` and `summary`, as a user types them, on good and on bad tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from made.synthetic import make_bundle_folder, make_phase, make_record

from datamill.cli.main import main


def run(capsys: pytest.CaptureFixture[str], verb: str, *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in ("analyze", verb, *arguments)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def ask(capsys: pytest.CaptureFixture[str], verb: str, *arguments: str | Path) -> dict[str, Any]:
    status, out, err = run(capsys, verb, *arguments, "--json")
    assert status == 0, err
    content = json.loads(out)
    assert isinstance(content, dict)
    return content


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two schedulers on two machines; the second is 20% slower and twice as noisy."""
    rng = np.random.default_rng(1)
    rows = [
        (
            sched,
            machine,
            float(rng.normal(100 + 20 * (sched == "new"), 3 + 3 * (sched == "new"))),
            index % 3 // 2,
        )
        for index in range(12)
        for sched in ("old", "new")
        for machine in ("m1", "m2")
    ]
    path = tmp_path / "t.csv"
    pl.DataFrame(rows, schema=["sched", "machine", "latency", "event"], orient="row").write_csv(path)
    return path


def test_the_first_line_says_which_group_is_larger_by_how_much_and_how_sure(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, "tests", table, "--response", "latency", "--factors", "sched")
    answer = out.split("\n\n")[0].replace("\n", " ")
    assert status == 0
    assert answer.startswith("The latency of old tends to be smaller than that of new (p = ")
    for words in ("n = 24 and 24", "old is the larger in", "shift −", "95% interval", "ratio 0.8"):
        assert words in answer
    assert "Why: nothing is assumed" in out
    assert "Mann-Whitney" in out


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ((), "Mann-Whitney"),
        (("--assume", "exchangeable"), "permutation of means"),
        (("--assume", "normal"), "Welch's t"),
        (("--assume", "normal-equal-variances"), "Student's t"),
        (("--compare", "spread"), "Brown-Forsythe"),
        (("--compare", "spread", "--assume", "normal"), "variance ratio F"),
    ],
)
def test_the_assumption_and_the_aspect_choose_the_test(
    options: tuple[str, ...], name: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ask(capsys, "tests", table, "--response", "latency", "--factors", "sched", *options)
    pair = content["strata"][0]["pairs"][0]
    assert pair["test"] == name
    assert (pair["n_first"], pair["n_second"]) == (24, 24)
    assert pair["p"] < 0.05
    for estimate in pair["estimates"]:
        assert estimate["low"] <= estimate["estimate"] <= estimate["high"]
    assert content["why"]


def test_further_factors_make_strata_and_two_groups_an_answer_over_all_of_them(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = tmp_path / "pairs.svg"
    options = ("--response", "latency", "--factors", "machine,sched", "--factor", "sched", "--figure", figure)
    content = ask(capsys, "tests", table, *options)
    assert [item["levels"] for item in content["strata"]] == [{"machine": "m1"}, {"machine": "m2"}]
    assert content["combined"]["test"] == "van Elteren"
    assert content["combined"]["n_first"] == 24
    assert "holm" in content["adjust"]
    assert "over all strata" in figure.read_text()


def test_measurements_of_one_trial_are_averaged_and_never_count_as_replicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    rows = [
        (f"t{trial}", "ab"[trial % 2], float(rng.normal(trial % 2, 1)))
        for trial in range(12)
        for _ in range(50)
    ]
    path = tmp_path / "t.csv"
    pl.DataFrame(rows, schema=["trial", "g", "y"], orient="row").write_csv(path)
    options = (path, "--response", "y", "--factors", "g", "--trial", "trial")
    content = ask(capsys, "tests", *options)
    assert (content["n"], content["averaged"]) == (12, 12)
    assert "averaged: they are not replicates" in run(capsys, "tests", *options)[1]
    summary = ask(capsys, "summary", *options)
    assert [(group["n"], group["trials"]) for group in summary["groups"]] == [(300, 6), (300, 6)]
    assert "not replicates" in " ".join(summary["warnings"])


def test_three_against_three_says_that_no_rank_test_can_detect_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g,y\na,1\na,2\na,3\nb,11\nb,12\nb,13\n")
    status, out, _ = run(capsys, "tests", path, "--response", "y", "--factors", "g")
    assert status == 0
    assert "No difference" in out
    assert "with 3 against 3 observations no rank test" in out
    assert "90% interval" in out


def test_a_bundle_needs_nothing_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    records = [
        make_record(trial.trial_id, package=trial.package, run=make_phase(10**9 + 7**index % 10**6))
        for index, trial in enumerate(bundle.design.trials)
    ]
    bundle.write_table(records)
    content = ask(capsys, "tests", bundle.folder)
    assert (content["factor"], content["response"], content["unit"]) == ("package", "rate", "B/s")
    assert ask(capsys, "summary", bundle.folder)["n"] == len(records)
    variability = ask(capsys, "variability", bundle.folder)
    assert {item["factor"] for item in variability["factors"]} == {"package", "optimization", "aslr"}


def test_variability_finds_the_factor_that_makes_a_response_less_steady(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"m{machine}", aslr, padding, float(rng.normal(100, 1 + 2 * (aslr == "on"))))
        for machine in range(10)
        for aslr in ("off", "on")
        for padding in ("0", "64")
        for _ in range(6)
    ]
    path, figure = tmp_path / "t.csv", tmp_path / "cv.svg"
    pl.DataFrame(rows, schema=["machine", "aslr", "padding", "y"], orient="row").write_csv(path)
    options = (path, "--response", "y", "--factors", "machine,aslr,padding")
    content = ask(capsys, "variability", *options, "--figure", figure)
    assert content["answer"][0].startswith("y varies more at aslr = on than at off")
    p = {item["factor"]: item["overall"]["adjusted_p"] for item in content["factors"]}
    assert p["aslr"] < 1e-6
    assert p["padding"] > 0.05
    assert len(content["points"]) == 40
    assert "coefficient of variation" in figure.read_text()
    text = run(capsys, "variability", *options)[1]
    assert "40 of 40 design points have fewer than 10 observations" in text.replace("\n  ", " ")


def test_windows_set_variability_against_a_count_of_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    events = (rng.random(8000) < np.repeat(np.linspace(0, 0.1, 80), 100)).astype(int)
    calls = pl.DataFrame(
        {"cycles": rng.lognormal(4, 0.1, 8000) + 50.0 * events, "binned": events, "at": range(8000)}
    )
    path, figure = tmp_path / "calls.parquet", tmp_path / "w.svg"
    calls.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path)
    options = (path, "--response", "cycles", "--window", "100", "--against", "binned")
    content = ask(capsys, "variability", *options, "--run-order", "at", "--figure", figure)
    assert (len(content["windows"]), content["left_over"]) == (80, 0)
    assert content["answer"][0].startswith("The coefficient of variation of cycles grows with binned")
    assert content["associations"][0]["correlation"]["low"] > 0.5
    assert sum(window["count"] for window in content["windows"]) == events.sum()
    # In the order of the rows, which is random here, windows are more alike.
    shuffled = [window["count"] for window in ask(capsys, "variability", *options)["windows"]]
    assert np.std(shuffled) < 0.9 * np.std([window["count"] for window in content["windows"]])
    assert "binned in 100 observations" in figure.read_text()


@pytest.mark.parametrize("kind", ["box", "ecdf", "histogram"])
def test_summary_draws_distributions_that_stay_small(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    path, figure = tmp_path / "t.parquet", tmp_path / "f.json"
    labels = np.array(["a", "b"])[rng.integers(0, 2, 300_000)]
    pl.DataFrame({"g": labels, "y": rng.lognormal(0, 1, 300_000)}).write_parquet(path)
    options = (path, "--response", "y", "--factors", "g", "--kind", kind, "--log", "--figure", figure)
    content = ask(capsys, "summary", *options)
    assert (content["n"], content["quantile_type"]) == (300_000, 1)
    assert content["groups"][0]["median"] == pytest.approx(1, abs=0.02)
    assert figure.stat().st_size < 300_000


def test_summary_needs_no_factor(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "summary", table, "--response", "latency")
    assert status == 0
    assert out.startswith("Half of the 48 observations of latency lie between ")


GOOD = "g,h,y,e\na,p,1.0,0\na,q,2.5,1\nb,p,3.1,0\nb,q,4.4,1\na,p,1.2,0\na,q,2.2,0\nb,p,3.0,1\nb,q,4.6,0\n"
Y, G = ("--response", "y"), ("--factors", "g")
BAD: dict[str, tuple[str, str, tuple[str, ...], str]] = {
    "one group": ("tests", "g,y\na,1\na,2\n", (*Y, *G), "one group only"),
    "no such factor": ("tests", GOOD, (*Y, *G, "--factor", "h"), "The factors are: g."),
    "constant": ("tests", "g,y\na,1\na,1\nb,1\nb,1\n", (*Y, *G), "constant"),
    "one observation each": (
        "tests", "g,y\na,1\nb,2\n", (*Y, *G, "--assume", "normal"), "one observation only",
    ),
    "no spread when exchangeable": (
        "tests", GOOD, (*Y, *G, "--assume", "exchangeable", "--compare", "spread"), "Choose --assume nothing",
    ),
    "not a number": ("tests", GOOD + "a,p,fast,0\n", (*Y, *G), 't.csv:10: y is "fast"'),
    "not finite": ("tests", GOOD + "a,p,inf,0\n", (*Y, *G), 't.csv:10: y is "inf"'),
    "NaN": ("variability", GOOD + "a,p,NaN,0\n", (*Y, *G), 't.csv:10: y is "NaN"'),
    "no level": ("variability", GOOD + ",p,1,0\n", (*Y, *G), "t.csv:10: factor g has no level here"),
    "unknown assumption": ("tests", GOOD, (*Y, *G, "--assume", "gaussian"), "'gaussian' is not one of"),
    "single observations": ("variability", "g,y\na,1\nb,2\n", (*Y, *G), "single observation"),
    "window alone": ("variability", GOOD, (*Y, *G, "--window", "4"), "--window and --against go together"),
    "window too large": (
        "variability", GOOD, (*Y, "--window", "50", "--against", "e"), "no design point has 50 observations",
    ),
    "negative counts": (
        "variability",
        GOOD.replace(",1\n", ",-1\n"),
        (*Y, "--window", "4", "--against", "e"),
        "count nothing",
    ),
    "no such count": ("variability", GOOD, (*Y, "--window", "4", "--against", "z"), 'no column "z"'),
    "log of zero": ("summary", "g,y\na,0\na,1\n", (*Y, "--log", "--figure", "f.svg"), "no logarithm"),
    "unknown ending": ("summary", GOOD, (*Y, "--figure", "f.bmp"), "End the name in one of"),
    "no rows": ("summary", "g,y\n", Y, "no rows"),
    "no response": ("summary", GOOD, (), "--response"),
    "empty column": ("summary", GOOD + "a,p,,0\n", Y, 't.csv:10: y is ""'),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_ends_with_status_2_and_says_where_and_what(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb, text, options, message = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text)
    status, out, err = run(capsys, verb, "t.csv", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_group_without_data_in_a_stratum_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(GOOD + "a,r,5,0\na,r,6,0\n")
    out = run(capsys, "tests", path, "--response", "y", "--factors", "g,h")[1]
    assert "no data of b at h = r" in out


def test_a_row_that_stands_twice_in_a_tidy_table_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    records = [
        make_record(trial.trial_id, package=trial.package, run=make_phase(10**9 + index))
        for index, trial in enumerate(bundle.design.trials)
    ]
    table = bundle.write_table(records)
    pl.concat([table, table.filter(pl.col("response") == "rate").head(1)]).write_parquet(
        tmp_path / "t.parquet"
    )
    for verb in ("tests", "variability", "summary"):
        status, _, err = run(capsys, verb, tmp_path / "t.parquet", "--response", "rate")
        assert (status, "twice" in err) == (2, True), err


def test_values_that_do_not_vary_are_said_to_be_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g,y\na,1\na,1\nb,1\nb,1\n")
    status, out, _ = run(capsys, "variability", path, "--response", "y", "--factors", "g")
    assert status == 0
    assert "the observations at each are all equal" in " ".join(out.split())
