"""`datamill plan` as a user types it: from tables, from variances, from a bundle, on good and bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made.synthetic import fit_record, make_bundle_folder, make_phase, make_record

import datamill
from datamill.cli.main import main
from datamill.protocol.trial import BuildFacts, CompilerFacts

COSTS = ("--build-time", "30s", "--execution-time", "0.5s", "--measurement-time", "2ms")
VARIANCES = ("--variances", "0.04,0.01,0.2", "--mean", "10")
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
EXPERIMENT = """
[experiment]
name = "pilot"
seed = 7
[replication]
builds = 6
executions = 3
measurements = 20
warmup = 5
[[package]]
name = "a"
path = "a"
[responses.op]
unit = "ms"
formula = "op_ms"
direction = "lower"
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in ("plan", *arguments)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def ask(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    content = json.loads(out)
    assert isinstance(content, dict)
    return content


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("datamill: ")
    assert "Traceback" not in err
    return err


def write_table(path: Path, builds: int, executions: int, measurements: int, versions: int = 1) -> Path:
    rng = np.random.default_rng(4)
    rows = ["version,build,execution,measurement,value,unit"]
    for version in range(versions):
        values = (
            rng.normal(10, 0.2 * (1 + version), (builds, 1, 1))
            + rng.normal(0, 0.1, (builds, executions, 1))
            + rng.normal(0, 0.45, (builds, executions, measurements))
        )
        rows += [
            f"v{version},{build},{execution},{measurement},{value:.6f},ms"
            for (build, execution, measurement), value in np.ndenumerate(values)
        ]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    return write_table(tmp_path / "pilot.csv", 12, 4, 20)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Six builds at 4 s, two at a time; executions of 0.5 s and 10 ms a measurement."""
    return make_pilot(tmp_path / "pilot", EXPERIMENT)


def make_pilot(folder: Path, text: str, *, digest: str | None = None) -> Path:
    """A bundle of a pilot; with a `digest` all its builds gave the same executables."""
    made = make_bundle_folder(folder, text)
    rng = np.random.default_rng(5)
    compiler = CompilerFacts(1, 1, {"-O2": 1}, 1, 1, 1, 0, 1, {"gcc": 1}, 0)
    levels = {build: rng.normal(10, 0.3) for build in range(1, 7)}
    records = []
    for number, trial in enumerate(made.design.trials):
        taken = max(1, trial.measurements + trial.warmup)
        values = levels[trial.build] + rng.normal(0, 0.1) + rng.normal(0, 0.3, taken)
        run_s = 0.5 + 0.01 * taken
        setup = make_phase(4 * SECOND, started_unix_ns=START + (trial.build - 1) // 2 * 4 * SECOND)
        records.append(
            make_record(
                trial.trial_id,
                started_unix_ns=START + number * 10 * SECOND,
                ended_unix_ns=START + number * 10 * SECOND + int((run_s + 0.2) * SECOND),
                run=make_phase(int(run_s * SECOND)),
                build=BuildFacts(
                    f"b{trial.build}", "shared", True, setup, compiler, executables_sha256=digest
                ),
                factors=(),
                metrics={"op_ms": tuple(values.tolist())},
            )
        )
    made.append_records([fit_record(record, made) for record in records])
    made.write_table(made.read_records())
    return made.folder


def test_the_first_sentence_says_how_often_to_repeat_what(
    pilot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, pilot, *COSTS, "--half-width", "1%")
    answer = " ".join(out.split("\n\n")[0].split())
    assert status == 0
    assert "builds ×" in answer
    assert "measurements make the 95% interval of the mean of value of v0 ±" in answer
    assert "as the pilot's variances are themselves uncertain" in answer
    assert "the pilot as it was" in out
    assert "[replication]" in out
    assert all(len(line) <= 100 for line in out.splitlines())


def test_variances_alone_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    content = ask(capsys, *VARIANCES, *COSTS, "--half-width", "1%")
    assert (content["plan"]["builds"], content["plan"]["executions"], content["plan"]["measurements"]) == (
        19, 4, 92,
    )  # fmt: skip
    assert content["plan"]["half_width"] <= 0.1
    assert content["optimum"]["m0"] == pytest.approx(15**0.5)
    assert content["optimum"]["n0"] == pytest.approx(5000**0.5)
    assert content["low"] is None


def test_the_papers_costs_say_the_same_as_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = ask(capsys, *VARIANCES, *COSTS)
    paper = ask(capsys, *VARIANCES, "--costs", "b=15000,w=250")
    assert seconds["plan"]["builds"] == paper["plan"]["builds"]
    assert paper["plan"]["time"] == pytest.approx(seconds["plan"]["time"] / 0.002)
    assert not paper["timed"]


def test_a_relative_and_an_absolute_half_width_agree(pilot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relative = ask(capsys, pilot, *COSTS, "--half-width", "2%")
    absolute = ask(capsys, pilot, *COSTS, "--half-width", repr(0.02 * relative["mean"]))
    assert relative["plan"] == absolute["plan"]


def test_a_time_is_used_but_not_exceeded(pilot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = ask(capsys, pilot, *COSTS, "--time", "1h")
    assert 3400 < content["plan"]["time"] <= 3600
    assert content["low"] < content["plan"]["half_width"] < content["high"]


def test_a_difference_to_detect_is_planned_for_two_versions(
    pilot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ask(capsys, pilot, *COSTS, "--detect", "3%", "--power", "0.8")
    assert content["plan"]["power"] >= 0.8
    more = ask(capsys, pilot, *COSTS, "--detect", "3%", "--power", "0.95")
    assert more["plan"]["time"] > content["plan"]["time"]
    _, out, _ = run(capsys, pilot, *COSTS, "--detect", "3%")
    assert out.startswith("To see a difference of 3% (")


def test_bounds_are_kept(pilot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bounds = ("--builds", "4:9", "--executions", "3", "--measurements", ":10")
    plan = ask(capsys, pilot, *COSTS, "--half-width", "5%", *bounds)["plan"]
    assert 4 <= plan["builds"] <= 9
    assert plan["executions"] == 3
    assert plan["measurements"] <= 10
    assert "the half-width is still" in refuse(capsys, pilot, *COSTS, "--half-width", "0.1%", *bounds)


def test_of_several_versions_the_one_that_varies_most_is_planned_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_table(tmp_path / "t.csv", 12, 4, 10, versions=3)
    assert ask(capsys, table, *COSTS)["version"] == "v2"
    assert ask(capsys, table, *COSTS, "--only", "v0")["version"] == "v0"
    assert "which varies most of 3 versions" in " ".join(run(capsys, table, *COSTS)[1].split())
    assert 'there is no version "v9"' in refuse(capsys, table, *COSTS, "--only", "v9")


def test_a_bundle_knows_what_its_repetitions_took(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = ask(capsys, bundle)
    assert content["costs"]["build"] == pytest.approx(2.0)
    assert content["costs"]["measurement"] == pytest.approx(0.01, rel=1e-6)
    # Start, five warm-up measurements, and what the worker does around them.
    assert content["costs"]["execution"] == pytest.approx(0.5 + 0.05 + 0.2, rel=1e-6)
    assert "calibration" in content["costs"]["source"]
    assert content["pilot"] == {"builds": 6, "executions": 3, "measurements": 20}
    assert "warmup = 5" in content["replication"]
    given = ask(capsys, bundle, "--build-time", "1min")
    assert given["costs"]["build"] == 60.0
    assert given["plan"]["builds"] <= content["plan"]["builds"]


def test_times_are_those_of_all_versions_that_the_file_runs(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = make_pilot(tmp_path / "two", EXPERIMENT + '[[package]]\nname = "b"\npath = "b"\n')
    content = ask(capsys, two, "--half-width", "1%", "--only", "a")
    plan, costs = content["plan"], content["costs"]
    each = costs["build"] + plan["executions"] * (
        costs["execution"] + plan["measurements"] * costs["measurement"]
    )
    assert plan["time"] == pytest.approx(2 * plan["builds"] * each)
    assert " for both versions" in " ".join(run(capsys, two, "--half-width", "1%")[1].split())
    assert ask(capsys, two, "--time", "30min")["plan"]["time"] <= 1800
    assert "for both" not in run(capsys, bundle, "--half-width", "1%")[1]


def test_builds_that_are_one_and_the_same_are_not_planned(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`compare` says of such builds that chance in compilation is not sampled."""
    assert ask(capsys, bundle)["plan"]["builds"] > 2
    same = make_pilot(tmp_path / "same", EXPERIMENT, digest="0" * 64)
    content = ask(capsys, same)
    assert content["plan"]["builds"] == 1
    assert content["plan"]["executions"] > 2
    assert "builds = 1" in content["replication"]
    assert "all 6 builds of package a gave the same executables" in content["notes"][0]
    _, out, _ = run(capsys, same, "--detect", "5%")
    assert out.startswith("To see a difference of 5%")
    assert "Welch's test of execution means" in " ".join(out.split())
    assert "nothing is known of how builds differ" not in out


def test_a_plan_says_how_sure_it_is_to_suffice_and_takes_more_builds_when_asked(
    pilot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ask(capsys, pilot, *COSTS, "--half-width", "1%")
    assert 0.2 < content["sure"] < 0.6
    surer = ask(capsys, pilot, *COSTS, "--half-width", "1%", "--assurance", "80%")
    assert surer["sure"] >= 0.8
    assert surer["plan"] == content["surer"]
    answer = " ".join(run(capsys, pilot, *COSTS, "--half-width", "1%")[1].split())
    assert f"It is {100 * content['sure']:.0f}% sure to suffice, judging by the pilot; " in answer
    assert f"{content['surer']['builds']} builds are 80% sure (--assurance 80%)." in answer
    for wrong in ("0", "1.2", "sure"):
        assert "is not an assurance" in refuse(capsys, pilot, *COSTS, "--assurance", wrong)
    assert "a time is kept" in refuse(capsys, pilot, *COSTS, "--time", "2h", "--assurance", "0.8")


def test_one_build_plans_for_this_build_and_says_what_cannot_be_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, write_table(tmp_path / "one.csv", 1, 6, 20), *COSTS)
    assert status == 0
    assert out.startswith("For this one build alone: 1 build × ")
    assert "nothing is known of how builds differ" in " ".join(out.split())


def test_values_that_do_not_vary_give_the_least_plan_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "flat.csv"
    rows = [f"{build},{execution},5" for build in range(4) for execution in range(3)]
    table.write_text("\n".join(["build,execution,value", *rows]) + "\n")
    content = ask(capsys, table, *COSTS)
    assert (content["plan"]["builds"], content["plan"]["executions"]) == (2, 1)
    assert content["plan"]["half_width"] == 0
    assert "nothing varies here" in content["notes"][0]


def test_executions_with_one_value_plan_builds_and_executions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_table(tmp_path / "t.csv", 8, 5, 1)
    content = ask(capsys, table, "--build-time", "30s", "--execution-time", "1s")
    assert content["plan"]["measurements"] == 1
    assert content["variances"]["measurement"] is None
    assert content["costs"]["measurement"] == 0


def test_a_pilot_that_was_not_warmed_up_or_not_complete_is_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(6)
    rows = [
        (build, execution, number, 10 + rng.normal(0, 0.1) + 3 * 0.7**number)
        for build in range(8)
        for execution in range(4)
        for number in range(30)
        if (build, execution) != (2, 3)
    ]
    table = tmp_path / "cold.csv"
    lines = [",".join(map(str, row)) for row in rows]
    table.write_text("\n".join(["build,execution,measurement,value", *lines]) + "\n")
    warnings = " ".join(ask(capsys, table, *COSTS)["warnings"])
    assert "its warm-up is too short" in warnings
    assert "the pilot is not balanced" in warnings


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "a plan needs variances"),
        (("--variances", "1,2", "--mean", "1"), "are not three variances"),
        (("--variances", "1,-2,3"), "is not a variance"),
        (("--variances", "?,?,?"), "no variance is known"),
        (("--variances", "1,2,3", *COSTS), "the mean, which is not known"),
        (("--variances", "1,2,3", "--mean", "inf", *COSTS), "no finite number"),
        ((*VARIANCES,), "nothing tells what one more of these takes: build, execution, measurement"),
        ((*VARIANCES, *COSTS, "--half-width", "1%", "--time", "1h"), "different goals"),
        ((*VARIANCES, *COSTS, "--half-width", "-1"), "is not a size above zero"),
        ((*VARIANCES, *COSTS, "--half-width", "x"), "is not a size above zero"),
        ((*VARIANCES, *COSTS, "--time", "2 weeks"), "is not a time"),
        ((*VARIANCES, *COSTS, "--time", "1s"), "the time is too short"),
        ((*VARIANCES, *COSTS, "--detect", "5%", "--power", "1.5"), "not between 0 and 1"),
        ((*VARIANCES, *COSTS, "--detect", "5%", "--power", "0.01"), "no more than chance"),
        ((*VARIANCES, *COSTS, "--costs", "b=1,w=2"), "says in the paper's units what"),
        ((*VARIANCES, "--costs", "b=1"), "w is missing"),
        ((*VARIANCES, "--costs", "b=1,x=2"), "not one of the paper's costs"),
        ((*VARIANCES, "--costs", "b=1,w=2", "--time", "1h"), "which is not a time here"),
        ((*VARIANCES, *COSTS, "--builds", "9:4"), "is not a range"),
        ((*VARIANCES, *COSTS, "--builds", "1"), "at least 2 builds"),
        ((*VARIANCES, "--false-alarms"), "needs DATA"),
        ((*VARIANCES, *COSTS, "--group-sizes", "1,10"), "goes with --false-alarms"),
        (("nowhere.csv",), "nowhere.csv"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_remedy(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in " ".join(refuse(capsys, *arguments).split())


def test_figures_and_pages_are_written(
    pilot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    svg, page = tmp_path / "w.svg", tmp_path / "w.html"
    assert run(capsys, pilot, *COSTS, "--figure", svg, "--html", page)[0] == 0
    assert "best plan for each time" in svg.read_text()
    assert "[replication]" in page.read_text()
    assert run(capsys, pilot, "--false-alarms", "--figure", svg, "--html", page)[0] == 0
    assert "false alarms (%)" in svg.read_text()


def test_false_alarms_are_counted_by_the_number_of_builds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_table(tmp_path / "t.csv", 40, 8, 5)
    content = ask(capsys, table, "--false-alarms", "--comparisons", "2000")
    assert [row["builds"] for row in content["rows"]] == [1, 10, 15, 20, 25, 30]
    assert [row["disjoint"] for row in content["rows"]] == [True] * 4 + [False] * 2
    at_ten = content["rows"][1]
    assert at_ten["welch"]["estimate"] < 0.1 < at_ten["welch_executions"]["estimate"]
    assert "drawn with replacement" in content["warnings"][0]
    again = ask(capsys, table, "--false-alarms", "--comparisons", "2000")
    assert again == content
    _, out, _ = run(capsys, table, "--false-alarms")
    assert out.startswith("value of v0 seems to differ from itself in ")
    assert "equation" not in out
    assert "the paper's equation 17" in " ".join(run(capsys, table, "--false-alarms", "--verbose")[1].split())
    assert all(len(line) <= 100 for line in out.splitlines())


def test_false_alarms_of_one_build_cannot_be_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_table(tmp_path / "one.csv", 1, 6, 20)
    assert "cannot be known" in refuse(capsys, one, "--false-alarms")
    two = write_table(tmp_path / "two.csv", 6, 6, 20)
    assert "cannot be drawn from 6" in refuse(capsys, two, "--false-alarms", "--group-sizes", "1,10")
    assert "is not a number of builds" in refuse(capsys, two, "--false-alarms", "--group-sizes", "0")
    assert "--time is for a plan" in refuse(capsys, two, "--false-alarms", "--time", "1h")


def test_python_has_both(pilot: Path) -> None:
    planned = datamill.plan(pilot, build_time=30, execution_time="0.5s", measurement_time="2ms", detect="5%")
    assert planned.plan.best.power is not None
    assert str(planned).startswith("To see a difference of 5%")
    study = datamill.false_alarms(pilot, comparisons=500, group_sizes=[1, 6])
    assert [row.builds for row in study.alarms.rows] == [1, 6]
    with pytest.raises(datamill.InputError, match="has no argument"):
        datamill.plan(pilot, halfwidth="1%")  # type: ignore[call-arg]
