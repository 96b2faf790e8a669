"""The studies' summaries give the figures that were put into the tables they read."""

from __future__ import annotations

import csv
import io
import itertools
import json
import runpy
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from math import sqrt
from pathlib import Path

import pytest

STUDIES = Path(__file__).resolve().parents[3] / "studies"
#: Residuals of three like trials: their standard deviation is 1, their sum 0.
THREE = (-1.0, 0.0, 1.0)


def write_trials(
    path: Path, response: str, trials: Iterable[tuple[Mapping[str, str], Sequence[float]]]
) -> Path:
    """A tidy table with a row for each value: its package and levels, one trial for each entry."""
    rows = [
        {
            "trial_id": f"t{number}",
            "response": response,
            "unit": "s",
            "measurement": at,
            "value": value,
            "valid": "true",
        }
        | levels
        for number, (levels, values) in enumerate(trials)
        for at, value in enumerate(values)
    ]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def summarize(study: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a study's script in this process, which has imported already what takes scripts seconds."""
    said, complained = io.StringIO(), io.StringIO()
    script = STUDIES / study / "summarize"
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = [str(script), *map(str, arguments)], [str(script.parent)]
    try:
        with redirect_stdout(said), redirect_stderr(complained), pytest.raises(SystemExit) as end:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
    status = int(end.value.code or 0)
    return subprocess.CompletedProcess(sys.argv, status, said.getvalue(), complained.getvalue())


def list_cells(text: str, first: str) -> list[str]:
    """The cells of the line of a Markdown table that begins with `first`."""
    found = [
        line for line in text.splitlines() if line.split("|")[1:2] and line.split("|")[1].strip() == first
    ]
    assert len(found) == 1, (first, text)
    return [cell.strip() for cell in found[0].strip("|").split("|")]


def plant_layout(path: Path, *, aslr: float, padding: float, noisy: float) -> Path:
    """Ten benchmarks whose mean, effects and spread are known exactly, as shares of the mean.

    With aslr on the standard deviation is `noisy` times the usual 0.1 %; the benchmarks differ by 1 % of it.
    """
    trials = []
    for number, (on, padded) in itertools.product(range(10), itertools.product((0, 1), (0, 1))):
        mean = 2.0 + number
        centre = mean * (1 + aslr * (2 * on - 1) + padding * (2 * padded - 1))
        sd = 0.001 * (1 + 0.01 * number) * mean * (noisy if on else 1)
        levels = {"package": f"b{number}", "aslr": ("off", "on")[on], "env_padding": ("0", "10928")[padded]}
        trials += [(levels, [centre + sd * part]) for part in THREE]
    return write_trials(path, "wall_time", trials)


def test_effects_on_memory_layout_are_shares_of_the_mean_with_their_errors(tmp_path: Path) -> None:
    table = plant_layout(tmp_path / "first.csv", aslr=0.02, padding=-0.001, noisy=1)
    done = summarize(
        "memory-layout", table, "--json", tmp_path / "all.json", "--html", tmp_path / "page.html"
    )
    assert done.returncode == 0, done.stderr
    (first,) = json.loads((tmp_path / "all.json").read_text())["occasions"]
    assert first["trials"] == 120
    assert first["mean_s"] == {f"b{n}": pytest.approx(2.0 + n) for n in range(10)}
    effects = {(item["benchmark"], item["term"]): item for item in first["effects"]}
    assert len(effects) == 30
    for number in range(10):
        found = effects[f"b{number}", "aslr"]
        assert found["percent"] == pytest.approx(2.0)
        assert found["seconds"] == pytest.approx(0.02 * (2 + number))
        # An effect is a mean of 12 trials with signs; the error of the mean it is divided by adds a little.
        own = 0.1 * (1 + 0.01 * number) / sqrt(12)
        assert found["standard_error"] == pytest.approx(own * sqrt(1 + 0.02**2), rel=1e-6)
        assert found["p"] < 1e-6
        assert effects[f"b{number}", "env_padding"]["percent"] == pytest.approx(-0.1)
        assert effects[f"b{number}", "aslr:env_padding"]["percent"] == pytest.approx(0.0, abs=1e-9)
        assert effects[f"b{number}", "aslr:env_padding"]["p"] == pytest.approx(1.0)
    assert "The largest effect is that of aslr" in done.stdout
    assert list_cells(done.stdout, "aslr, mean")[1:] == ["0.23", "0.42", "2.000"]
    assert list_cells(done.stdout, "env_padding, mean")[1:] == ["0.000032", "0.000045", "0.100"]
    assert list_cells(done.stdout, "aslr, largest")[1:3] == ["2.8", "5.94"]
    assert list_cells(done.stdout, "machines × benchmarks")[1:] == ["17 × 11", "13 × 9", "1 × 10"]
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") >= 3
    assert "Coefficients of variation, by benchmark" in page


def test_variability_on_memory_layout_is_compared_between_levels(tmp_path: Path) -> None:
    table = plant_layout(tmp_path / "first.csv", aslr=0.0, padding=0.0, noisy=3)
    done = summarize("memory-layout", table, "--json", tmp_path / "all.json")
    assert done.returncode == 0, done.stderr
    (first,) = json.loads((tmp_path / "all.json").read_text())["occasions"]
    spreads = {(item["benchmark"], *item["levels"].values()): item["cv"] for item in first["spreads"]}
    assert spreads["b0", "off", "0"] == pytest.approx(0.001)
    assert spreads["b9", "on", "10928"] == pytest.approx(0.00327)
    tests = {item["factor"]: item for item in first["kruskal_wallis"]}
    # All 20 coefficients with aslr on are above all 20 with it off: H = 29.27 on one degree of freedom.
    # They tie in pairs (the two paddings), which is corrected for by less than 0.1 %.
    assert tests["aslr"]["p"] == pytest.approx(6.3e-8, rel=0.05)
    assert tests["aslr"]["p_within"] < 1e-4
    assert tests["env_padding"]["p"] == pytest.approx(1.0, abs=0.02)
    assert tests["aslr"]["medians"] == pytest.approx([0.001045, 0.003135])


def test_a_repeat_stands_beside_the_first_and_another_experiment_is_refused(tmp_path: Path) -> None:
    first = plant_layout(tmp_path / "first.csv", aslr=0.02, padding=0.0, noisy=1)
    second = plant_layout(tmp_path / "second.csv", aslr=-0.03, padding=0.0, noisy=1)
    done = summarize("memory-layout", first, second)
    assert list_cells(done.stdout, "aslr, mean")[1:] == ["0.23", "0.42", "2.000", "3.000"]
    assert "-3.00 % of the mean" in done.stdout
    other = write_trials(
        tmp_path / "other.csv",
        "wall_time",
        [({"package": "a", "warmups": level}, [1.0 + part]) for level in "02" for part in THREE],
    )
    done = summarize("memory-layout", first, other)
    assert done.returncode == 2
    assert "it varied warmups" in done.stderr
    done = summarize("memory-layout", tmp_path / "nothing")
    assert done.returncode == 2
    assert "Give the folder" in done.stderr


def test_a_benchmark_that_lost_its_trials_is_named_and_the_others_stay(tmp_path: Path) -> None:
    table = plant_layout(tmp_path / "first.csv", aslr=0.02, padding=0.0, noisy=1)
    kept = [line for line in table.read_text().splitlines() if ",b3,on," not in line]
    table.write_text("\n".join(kept) + "\n")
    done = summarize("memory-layout", table)
    assert done.returncode == 0, done.stderr
    assert "b3 has no effects" in done.stdout
    assert list_cells(done.stdout, "machines × benchmarks")[-1] == "1 × 9"


def test_link_order_has_the_mean_squares_of_its_design(tmp_path: Path) -> None:
    orders = {"default": 0.0, "alphabetical": 0.1, "reverse": -0.1}
    trials = [
        ({"package": "perl", "link_order": order, "aslr": aslr}, [10 + shift + 0.01 * part])
        for (order, shift), aslr in itertools.product(orders.items(), ("on", "off"))
        for part in THREE
    ]
    done = summarize("link-order", write_trials(tmp_path / "t.csv", "wall_time", trials))
    assert done.returncode == 0, done.stderr
    # 6 trials at each order: 6 · (0.1² + 0.1²) over 2 degrees of freedom.
    assert list_cells(done.stdout, "Link Order")[1:] == [
        "135.77",
        "< 2e-16",
        "1856.5",
        "< 2e-16",
        "0.06",
        "< 0.0001",
    ]
    assert list_cells(done.stdout, "Residuals")[-2] == "0.0001"
    assert list_cells(done.stdout, "alphabetical")[2] == "+1.00"
    assert list_cells(done.stdout, "reverse")[4] == "-1.00"
    assert "page_faults_served: this machine does not count it." in done.stdout


def test_autogroup_compares_means_and_variances_at_each_level(tmp_path: Path) -> None:
    trials = [
        (
            {"package": "client", "session": session, "autogroup": autogroup},
            [4.0 + part * (2.0 if (session, autogroup) == ("same", "on") else 1.0)],
        )
        for session, autogroup in itertools.product(("same", "different"), ("on", "off"))
        for part in (*THREE, *THREE, *THREE, *THREE, *THREE)
    ]
    done = summarize("autogroup", write_trials(tmp_path / "t.csv", "time", trials))
    assert done.returncode == 0, done.stderr
    on, off = (list_cells(done.stdout, f"here, autogroup {level}") for level in ("on", "off"))
    assert (on[1], on[2], off[1], off[2]) == ("1.00", "0.25", "1.00", "1.00")
    assert 0.001 < float(on[3]) < 0.02
    assert off[3] == "1.00"
    assert list_cells(done.stdout, "autogroup on, same session")[1:] == [
        "15", "4.000", "1.690", "2.000", "4.000", "6.000",
    ]  # fmt: skip


def test_scheduler_latency_has_effects_on_each_quantile(tmp_path: Path) -> None:
    factors = {
        "scheduler_policy": ("other", "batch"),
        "autogroup": ("off", "on"),
        "observer": ("none", "vmstat"),
        "background_load": ("load-compile", "load-cpu"),
    }
    # 1 to 1000 µs in each trial, a tenth of them longer by 500 µs with autogroup: half of that is its effect.
    usual = [float(value) for value in range(1, 1001)]
    longer = [value + (500.0 if value > 900 else 0.0) for value in usual]
    trials = [
        (
            dict(zip(factors, levels, strict=True)) | {"package": "latt"},
            longer if levels[1] == "on" else usual,
        )
        for levels in itertools.product(*factors.values())
        for _ in range(4)
    ]
    done = summarize("scheduler-latency", write_trials(tmp_path / "t.csv", "latency_us", trials))
    assert done.returncode == 0, done.stderr
    found = list_cells(done.stdout, "autogroup")
    assert found[1:4] == ["0.0", "0.0", "0.0"]
    assert found[4].startswith("250.0 (")
    assert float(found[5].removeprefix("< ")) < 0.05
    assert list_cells(done.stdout, "observer")[4].startswith("0.0 (")
    assert list_cells(done.stdout, "other, on, none, load-cpu")[1:] == [
        "4,000",
        "500",
        "900",
        "1,490",
        "1,500",
    ]
