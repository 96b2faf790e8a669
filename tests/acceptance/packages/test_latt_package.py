"""The ready-made package `latt` and its study, through the real worker."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "packages" / "latt"
EXPERIMENT = """
[experiment]
name = "latencies"
[[package]]
name = "latt"
path = "latt"
[responses.latency_us]
unit = "us"
direction = "lower"
"""


@pytest.fixture(scope="module")
def latt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs `latt` and `load`, built by the package's own script."""
    package = tmp_path_factory.mktemp("built") / "latt"
    shutil.copytree(PACKAGE, package)
    subprocess.run([package / "setup.sh"], cwd=package, check=True)
    return package / "latt-bench"


@pytest.fixture
def measure(latt: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(*arguments: str) -> dict[str, Any]:
        path = tmp_path / "metrics.json"
        subprocess.run([latt / "latt", "-o", path, *arguments], cwd=latt, check=True, timeout=300)
        metrics: dict[str, Any] = json.loads(path.read_text())
        return metrics

    return run


def test_the_package_as_one_trial_gives_a_row_for_each_latency(datamill, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "latt")
    with (tmp_path / "latt" / "env").open("a") as env:
        env.write("CLIENTS=3\nWORK_BYTES=4096\nMAX_INTERVAL_US=3000\nLOAD='sleep 1'\n")
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr

    table = pl.read_parquet(tmp_path / "bundle" / "table.parquet")
    values = {name: rows["value"].to_list() for (name,), rows in table.group_by("response")}
    wakeups = int(values["wakeups"][0])
    assert values["clients"] == [3.0]
    assert values["work_bytes"] == [4096.0]
    # A round takes 1 ms of waiting at the least; how many there are at the least depends on the host.
    assert 3 * 5 <= wakeups <= 3 * 1100
    assert wakeups % 3 == 0
    for response in ("latency_us", "work_time_us"):
        rows = table.filter(pl.col("response") == response)
        assert rows["measurement"].to_list() == list(range(wakeups))
        assert rows["valid"].all()
        assert rows["trial_id"].n_unique() == 1
    log = json.loads((tmp_path / "bundle" / "log.jsonl").read_text())
    assert values["latency_us"] == log["metrics"]["latency_us"]
    assert 1.0 <= values["load_time_s"][0] <= values["wall_time_s"][0]
    assert values["load_cpu_s"][0] < 0.5
    latencies = pl.Series(values["latency_us"])
    # A wake-up through a pipe takes a system call and a context switch, but no tenth of a second.
    assert latencies.min() > 0.1
    assert latencies.median() < 100_000


def test_wakeups_fill_the_life_of_the_load_and_no_work_has_no_work_time(measure) -> None:
    metrics = measure("-c", "2", "-b", "0", "-f", "500", "-t", "1500", "sleep", "0.5")
    assert len(metrics["latency_us"]) == metrics["wakeups"] == 2 * (metrics["wakeups"] // 2)
    assert 2 * 5 <= metrics["wakeups"] <= 2 * 1000
    assert "work_time_us" not in metrics
    assert metrics["packed_bytes"] == 0


@pytest.mark.parametrize("load", [["sleep", "1"], ["./load", "20"]])
def test_latencies_and_work_times_add_up_to_what_the_kernel_accounts(measure, load: list[str]) -> None:
    excesses = []
    for _ in range(5):
        metrics = measure("-c", "4", "-b", "65536", "-t", "5000", *load)
        if "clients_wait_s" not in metrics:
            pytest.skip("this kernel keeps no account of the time that threads wait for a processor")
        measured_s = (sum(metrics["latency_us"]) + sum(metrics["work_time_us"])) / 1e6
        accounted_s = metrics["clients_cpu_s"] + metrics["clients_wait_s"]
        # Nothing that was measured may be missing from the kernel's account, on however busy a machine.
        assert accounted_s > 0.95 * measured_s
        # The account also holds what clients do besides (reading, noting, going to sleep), and on a busy
        # machine the waiting of one that is preempted there; one quiet repetition shows the agreement.
        slack_s = 50e-6 * metrics["wakeups"]
        excesses.append((accounted_s - measured_s - slack_s) / measured_s)
        if excesses[-1] < 0.1:
            break
    assert min(excesses) < 0.1, excesses


def test_work_takes_longer_the_more_there_is_and_gives_the_same_bytes(measure) -> None:
    little = measure("-c", "1", "-b", "4096", "-t", "1500", "sleep", "0.3")
    much = measure("-c", "1", "-b", "131072", "-t", "1500", "sleep", "0.3")
    again = measure("-c", "1", "-b", "131072", "-t", "1500", "sleep", "0.3")
    # The least work time is free of waiting for the processor; the text is 32 times as long.
    assert min(much["work_time_us"]) > 8 * min(little["work_time_us"])
    assert much["packed_bytes"] == again["packed_bytes"] < 131072 * 2 / 3


def test_the_built_in_load_computes_for_as_long_as_it_has_work(measure) -> None:
    # The quickest of five: neighbours on a busy machine make a processor slower, never faster. In turns, so
    # that a neighbour who comes or goes meanwhile meets both.
    ones, fours = [], []
    for _ in range(5):
        ones.append(measure("-c", "1", "-b", "0", "./load", "5", "1"))
        fours.append(measure("-c", "1", "-b", "0", "./load", "5", "4"))
    one, four = min(ones, key=read_cpu_s), min(fours, key=read_cpu_s)
    assert 3 < read_cpu_s(four) / read_cpu_s(one) < 6
    assert one["load_time_s"] >= 0.9 * read_cpu_s(one)


def read_cpu_s(metrics: dict[str, Any]) -> float:
    return float(metrics["load_cpu_s"])


def test_the_observer_runs_once_after_each_round_and_without_one_nobody_looks(measure, latt: Path) -> None:
    seen = latt / "seen.txt"
    metrics = measure(
        "-c", "2", "-b", "0", "-t", "2000", "-w", f"echo looked | tee -a {seen}", "sleep", "0.4"
    )
    rounds = metrics["wakeups"] // 2
    assert metrics["observer_runs"] == rounds
    # Once more before the load starts: an observer that does not work is told before anything is measured.
    assert seen.read_text().splitlines() == ["looked"] * (rounds + 1)
    assert 0 < metrics["observer_time_s"] < metrics["load_time_s"] + 5
    without = measure("-c", "2", "-b", "0", "-t", "2000", "-w", "", "sleep", "0.2")
    assert without["observer_runs"] == without["observer_time_s"] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["-c", "0", "true"], 2, "CLIENTS must be a whole number from 1 to 400"),
        (["-b", "64k", "true"], 2, 'WORK_BYTES must be a whole number from 0 to 268435456, not "64k"'),
        (["-f", "9", "-t", "8", "true"], 2, "MAX_INTERVAL_US must not be below MIN_INTERVAL_US"),
        ([], 2, "usage: latt"),
        (["/no/such/load"], 1, "/no/such/load: No such file"),
        (["sh", "-c", "exit 3"], 1, "the background command ended with status 3"),
        (["sh", "-c", "kill -9 $$"], 1, "the background command ended with signal 9"),
        (["-f", "20000000", "-t", "20000000", "true"], 1, "ended before the first wake-up"),
        (["-t", "1000", "-n", "3", "sleep", "2"], 1, "raise MAX_WAKEUPS"),
        (["-w", "exit 3", "sleep", "0.3"], 1, "the observer (exit 3) ended with status 3"),
        (["-w", "no-such-monitor", "sleep", "0.3"], 1, "is the program installed? vmstat comes with"),
    ],
)
def test_what_cannot_be_measured_whole_is_refused_without_a_result(
    latt: Path, tmp_path: Path, arguments: list[str], status: int, words: str
) -> None:
    path = tmp_path / "metrics.json"
    result = subprocess.run(
        [latt / "latt", "-o", path, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == status, result.stderr
    assert words in result.stderr
    assert not path.exists()


def test_the_study_makes_two_packages_that_differ_in_their_load_alone(datamill, tmp_path: Path) -> None:
    for _ in range(2):  # what is there already is made again
        subprocess.run([ROOT / "studies" / "latt" / "prepare", tmp_path / "study"], check=True)
    result = datamill("check", tmp_path / "study" / "experiment.toml")
    assert result.returncode == 0, result.stdout + result.stderr
    idle, compress = (
        {
            str(path.relative_to(folder)): path.read_text()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        for folder in (tmp_path / "study" / "packages" / name for name in ("latt-idle", "latt-compress"))
    )
    assert idle.keys() == compress.keys()
    assert [name for name in idle if idle[name] != compress[name]] == ["env"]
    assert {name for name in idle if name != "env"} == {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*") if path.is_file() and path.name != "env"
    }


def test_the_study_does_not_write_into_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = subprocess.run(
        [ROOT / "studies" / "latt" / "prepare", tmp_path], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "holds something else" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_how_idle_the_processors_were_is_kept_with_each_latency(
    measure: Callable[..., dict[str, Any]],
) -> None:
    metrics = measure("-c", "2", "-b", "4096", "-t", "3000", "-i", "1", "sleep", "0.4")
    shares = metrics["idle_share"]
    assert len(shares) == len(metrics["latency_us"])
    assert all(0 <= share <= 1 for share in shares)
    # Of one round there is one value: it stands with the latencies of both clients.
    assert shares[::2] == shares[1::2]
    assert "idle_share" not in measure("-c", "2", "-b", "4096", "-t", "3000", "sleep", "0.1")


def test_the_encoder_counts_the_same_bits_whatever_its_threads(latt: Path) -> None:
    told = {
        subprocess.run([latt / "encode", "6", threads], capture_output=True, text=True, check=True).stdout
        for threads in ("1", "2", "5")
    }
    assert len(told) == 1, told
    assert told.pop().startswith("6 frames, ")
