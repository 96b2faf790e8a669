"""`datamill platforms` as a user types it, on a suite whose machines differ in two things that we know."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from acceptance.conftest import assert_refused

from datamill.verbs.inputs.scores import read_scores

RANDOM = np.random.default_rng(18)
MACHINES = [f"m{index:02d}" for index in range(16)]
#: How fast each machine computes, and how fast its memory is; and how much each benchmark asks of either.
SPEEDS = np.exp(RANDOM.normal(size=(16, 2)) * (0.5, 0.4))
SHARES = RANDOM.uniform(0.1, 0.9, 20)
NOISE = 0.01


def take_times(shares: np.ndarray) -> np.ndarray:
    """Times of programs (machines × programs) that spend these shares computing, and the rest on memory."""
    parts = shares / SPEEDS[:, :1] + (1 - shares) / SPEEDS[:, 1:]
    return 100 * parts * np.exp(NOISE * RANDOM.normal(size=parts.shape))


SUITE = take_times(SHARES)
APPLICATION = take_times(np.array([0.35]))[:, 0]
MEASURED = MACHINES[:7]


@pytest.fixture
def files(datamill) -> Path:
    """Scores of all machines, and the application's times on seven."""
    rows = [
        (machine, f"b{place:02d}", SUITE[row, place])
        for row, machine in enumerate(MACHINES)
        for place in range(len(SHARES))
    ]
    pl.DataFrame(rows, schema=["machine", "benchmark", "seconds"], orient="row").write_csv(
        datamill.folder / "scores.csv"
    )
    pl.DataFrame({"machine": MEASURED, "seconds": APPLICATION[:7]}).write_csv(datamill.folder / "web.csv")
    return datamill.folder


def ask(datamill, *arguments: str) -> dict:
    result = datamill("platforms", *arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.usefixtures("files")
def test_every_machine_that_the_times_lack_is_predicted_near_the_truth(datamill) -> None:
    found = ask(datamill, "predict", "scores.csv", "--application", "web.csv")
    predictions = found["predictions"]
    assert [item["machine"] for item in predictions] == MACHINES[7:]
    assert list(predictions[0]) == [
        "machine", "seconds", "low", "high", "refused", "reasons", "risk", "expected_error",
    ]  # fmt: skip
    kept = [item for item in predictions if not item["refused"]]
    assert len(kept) >= 6
    for item in kept:
        truth = APPLICATION[MACHINES.index(item["machine"])]
        assert item["seconds"] == pytest.approx(truth, rel=0.1)
        assert item["low"] < item["seconds"] < item["high"]
        assert item["reasons"] == []
    inside = [item["low"] <= APPLICATION[MACHINES.index(item["machine"])] <= item["high"] for item in kept]
    assert sum(inside) >= len(inside) - 2


@pytest.mark.usefixtures("files")
def test_a_wider_level_gives_wider_intervals_on_the_asked_machine_alone(datamill) -> None:
    usual = ask(datamill, "predict", "scores.csv", "--application", "web.csv", "--target", "m09")
    wide = ask(
        datamill,
        "predict",
        "scores.csv",
        "--application",
        "web.csv",
        "--target",
        "m09",
        "--confidence",
        "0.99",
    )
    (narrow,), (broad,) = usual["predictions"], wide["predictions"]
    assert usual["confidence"] == 0.9
    assert narrow["seconds"] == broad["seconds"]
    assert broad["low"] < narrow["low"] < narrow["high"] < broad["high"]


def test_scores_and_seconds_of_one_suite_predict_the_same(datamill, files: Path) -> None:
    table = pl.read_csv(files / "scores.csv")
    scores = table.with_columns(score=1000 / pl.col("seconds")).drop("seconds")
    scores.write_parquet(files / "rates.parquet")
    by_time = ask(datamill, "predict", "scores.csv", "--application", "web.csv")["predictions"]
    by_score = ask(datamill, "predict", "rates.parquet", "--application", "web.csv")["predictions"]
    for one, other in zip(by_time, by_score, strict=True):
        assert one["seconds"] == pytest.approx(other["seconds"], rel=1e-6)


def test_a_kept_fingerprint_predicts_machines_that_came_later(datamill, files: Path) -> None:
    told = datamill("platforms", "fit", "scores.csv", "--application", "web.csv", "--save", "web.json")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("web can be predicted from this suite")
    table = pl.read_csv(files / "scores.csv")
    table.filter(~pl.col("machine").is_in(MEASURED)).write_csv(files / "new.csv")
    whole = ask(datamill, "predict", "scores.csv", "--application", "web.csv")["predictions"]
    later = ask(datamill, "predict", "new.csv", "--fingerprint", "web.json")["predictions"]
    for one, other in zip(whole, later, strict=True):
        assert one["machine"] == other["machine"]
        assert one["seconds"] == pytest.approx(other["seconds"], rel=1e-9)


@pytest.mark.usefixtures("files")
def test_chosen_machines_are_as_many_as_asked_and_the_always_ones_among_them(datamill) -> None:
    found = ask(datamill, "choose", "scores.csv", "--count", "5", "--always", "m03")
    assert len(set(found["machines"])) == 5
    assert set(found["machines"]) <= set(MACHINES)
    assert "m03" in found["machines"]
    assert found["left"] == sorted(found["left"], reverse=True)


def test_a_ranking_has_the_fastest_candidate_first_with_its_price(datamill, files: Path) -> None:
    (files / "prices.csv").write_text("machine,price\n" + "".join(f"{name},100\n" for name in MACHINES[:10]))
    result = ask(
        datamill,
        *("rank", "scores.csv", "--application", "web.csv"),
        *("--candidates", ",".join(MACHINES[:10]), "--prices", "prices.csv"),
    )
    told = [item["machine"] for item in result["machines"]]
    truth = sorted(MACHINES[:10], key=lambda name: APPLICATION[MACHINES.index(name)])
    refused = {item["machine"] for item in result["refused"]}
    assert told[0] == next(name for name in truth if name not in refused)
    assert result["machines"][0]["value"] == 1
    assert sum(item["best"] for item in result["machines"]) == pytest.approx(1, abs=0.01)


def test_a_page_has_the_answer_and_its_figures(datamill, files: Path) -> None:
    result = datamill("platforms", "rank", "scores.csv", "--application", "web.csv", "--html", "rank.html")
    assert result.returncode == 0, result.stderr
    page = (files / "rank.html").read_text()
    assert "over the suite" in page
    assert page.count("<svg") >= 2
    assert result.stdout.splitlines()[0].split(" is the")[0] in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "scores.csv"), "times are missing"),
        (("predict", "scores.csv", "--application", "none.csv"), "no such file"),
        (("predict", "scores.csv", "--application", "web.csv", "--target", "m99"), '--targets names "m99"'),
        (("predict", "scores.csv", "--application", "web.csv", "--target", "m01"), "measured on m01"),
        (("predict", "scores.csv", "--application", "web.csv", "--strategy", "magic"), 'no strategy "magic"'),
        (("predict", "web.csv", "--application", "web.csv"), "no column benchmark"),
        (("choose", "scores.csv"), "how many machines"),
        (("choose", "scores.csv", "--count", "99"), "there are 16"),
        (
            ("rank", "scores.csv", "--application", "web.csv", "--candidates", "m01,x"),
            '--candidates names "x"',
        ),
        (("fit", "scores.csv", "--application", "web.csv", "--save", "no/web.json"), "no such folder"),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_cannot_be_used_is_refused(datamill, arguments: tuple[str, ...], message: str) -> None:
    assert_refused(datamill("platforms", *arguments), message)


def test_every_member_of_the_fingerprint_suite_builds_and_checks_its_own_result(datamill) -> None:
    made = datamill("platforms", "suite", "suite")
    assert made.returncode == 0, made.stderr
    members = sorted((datamill.folder / "suite" / "members").iterdir())
    assert len(members) == 15
    assert all(member.name in made.stdout for member in members)
    text = (datamill.folder / "suite" / "experiment.toml").read_text()
    assert re.findall(r'path = "members/(.*)"', text) == [member.name for member in members]
    for member in members:
        for script in ("./setup.sh", "./run.sh"):
            ran = subprocess.run(
                [script],
                cwd=member,
                env={**os.environ, "SIZE": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, (member.name, script, ran.stderr)
            assert not ran.stderr, (member.name, script, ran.stderr)
        assert ran.stdout.strip(), member.name
    assert_refused(datamill("platforms", "suite", "suite"), "something already")


def test_a_bundle_is_a_table_of_scores_with_a_machine_for_each_level(datamill) -> None:
    datamill("platforms", "suite", "suite")
    folder = datamill.folder / "suite"
    few = ("int-hash", "mix-tree")
    for name in few:
        (folder / "members" / name / "env").write_text("SIZE=1\n")
    text = (folder / "experiment.toml").read_text()
    head = text[: text.index("[[package]]")].replace("replicates = 3", "replicates = 1")
    packages = "".join(f'[[package]]\nname = "{name}"\npath = "members/{name}"\n' for name in few)
    (folder / "experiment.toml").write_text(f'{head}{packages}[factors]\naslr = ["on", "off"]\n')
    ran = datamill("run", "suite", "--out", "bundle")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    bundle = datamill.folder / "bundle"
    matrix = read_scores(bundle)
    assert matrix.benchmarks == few or matrix.benchmarks == few[::-1]
    assert sorted(name.rpartition(" ")[2] for name in matrix.machines) == ["aslr=off", "aslr=on"]
    table = pl.read_parquet(bundle / "table.parquet").filter(pl.col("response") == "wall_time_s")
    assert sorted(matrix.seconds.ravel()) == sorted(table["value"].to_list())
    times = pl.DataFrame({"machine": matrix.machines[:1], "seconds": [1.0]})
    times.write_csv(datamill.folder / "app.csv")
    assert_refused(
        datamill("platforms", "predict", "bundle", "--application", "app.csv"), "on one machine only"
    )
    assert_refused(
        datamill("platforms", "choose", "bundle", "--count", "1", "--response", "x"), 'no response "x"'
    )
