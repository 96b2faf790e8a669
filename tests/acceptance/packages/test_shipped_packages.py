"""The packages that come with datamill, started from and run as a user does."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from acceptance.conftest import assert_refused
from running.nightly import NIGHTLY

from datamill.experiment.units import check_unit
from datamill.packing.shipped_packages import list_shipped_packages

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {package.name: package for package in list_shipped_packages()}
#: Enough to see that a package works, and as little as that.
SMALL = {
    "aes": "ROUNDS=1",
    "dhrystone": "ITERATIONS=200000",
    "fft": "TRANSFORMS=20",
    "fft-alloc": "TRANSFORMS=20",
    "http": "REQUESTS=50",
    "rpc": "CALLS=20",
    "latt": "CLIENTS=2\nWORK_BYTES=4096\nLOAD='sleep 0.3'",
    "loopback": "MEGABYTES=20\nROUND_TRIPS=50",
    "strings": "OPERATIONS=2000",
    "perl": "MESSAGES=20\nROUNDS=1",
    "redis": "REQUESTS=500",
    "sqlite": "ROWS=2000",
    **{name: "TIMEOUT_S=1" for name in PACKAGES if name.startswith("stress-ng")},
}
BENCHMARKS = [name for name, package in PACKAGES.items() if package.kind == "benchmark"]
COMPLETE = [name for name in BENCHMARKS if not PACKAGES[name].list_fetched()]
FETCHED = [name for name in BENCHMARKS if PACKAGES[name].list_fetched()]
#: Built at night only. `sqlite` shows in every check what they would: fetched, configured once, linked as
#: asked; `make demo` builds xz.
LONG_TO_BUILD = {"perl", "redis", "xz"}


def run_small(
    datamill, *names: str, factors: str = 'aslr = ["on", "off"]\n'
) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Run the experiment `small` that `datamill new` made, shortened; returns records and table."""
    folder: Path = datamill.folder / "small"
    for name in names:
        with (folder / "packages" / name / "env").open("a") as env:
            env.write(f"\n{SMALL.get(name, '')}\n")
    experiment = folder / "experiment.toml"
    text = experiment.read_text().replace("replicates = 5", "replicates = 1")
    experiment.write_text(re.sub(r"(?s)(\[factors\][^\n]*\n).*?\n\n", rf"\g<1>{factors}\n", text, count=1))
    result = datamill("run", "small", "--out", "bundle", timeout_s=600)
    assert result.returncode == 0, result.stdout + result.stderr
    bundle = datamill.folder / "bundle"
    records = [json.loads(line) for line in (bundle / "log.jsonl").read_text().splitlines()]
    return records, pl.read_parquet(bundle / "table.parquet")


def check_trials(name: str, records: list[dict[str, Any]], table: pl.DataFrame) -> None:
    """What a package says that it reports is there, makes sense, and is the same where it must be."""
    package = PACKAGES[name]
    mine = [record for record in records if record["package"] == name]
    assert mine
    for record in mine:
        assert record["outcome"] == "completed", (name, record["failure"])
        for factor in record["factors"]:
            assert factor["observed"] == factor["asked"], (name, factor)
        told = {response.name for response in package.responses if not response.formula}
        assert set(record["metrics"]) <= told, name
    rows = table.filter(pl.col("package") == name)
    assert rows["valid"].all(), rows.filter(~pl.col("valid"))["exclusion"].to_list()
    for response in package.responses:
        if response.formula:
            continue
        values = [record["metrics"].get(response.name) for record in mine]
        if response.direction:
            assert all(each and min(each) > 0 for each in values), (name, response.name)
        if response.name.endswith("digest"):
            assert values[0] is not None
            assert values == values[:1] * len(values), (name, response.name)


def test_packages_that_are_complete_run_as_they_are_and_report_what_they_say(datamill) -> None:
    names = [name for name in COMPLETE if not PACKAGES[name].list_missing_programs()]
    for name in set(COMPLETE) - set(names):
        print(f"not run: {name}, for which {PACKAGES[name].list_missing_programs()} is not on this machine")
    assert {"dhrystone", "fft", "fft-alloc", "latt", "loopback", "strings"} <= set(names)
    result = datamill("new", "small", *(word for name in names for word in ("--from", name)))
    assert result.returncode == 0, result.stdout + result.stderr
    records, table = run_small(datamill, *names)
    assert len(records) == 2 * len(names)
    for name in names:
        check_trials(name, records, table)


@pytest.mark.parametrize("name", FETCHED)
def test_a_package_with_fetched_sources_is_built_with_the_asked_level_and_runs(datamill, name: str) -> None:
    package = PACKAGES[name]
    if name in LONG_TO_BUILD and not NIGHTLY:
        pytest.skip(f"{name} is long to configure and to build: `make nightly` does")
    if package.list_missing_programs():
        pytest.skip(f"{package.list_missing_programs()} not on this machine")
    # The downloads of one day are not repeated for each test.
    datamill.environment["XDG_CACHE_HOME"] = os.environ.get(
        "XDG_CACHE_HOME", str(Path("~/.cache").expanduser())
    )
    result = datamill("new", "small", "--from", name, timeout_s=600)
    if "are not available" in result.stderr:
        pytest.skip(f"no sources here: {result.stderr}")
    assert result.returncode == 0, result.stdout + result.stderr
    # The fastest level to build, and link order, which says that there is a link to be ordered.
    records, table = run_small(
        datamill, name, factors='optimization = "-O0"\nlink_order = "reverse"\naslr = "off"\n'
    )
    assert len(records) == 1
    check_trials(name, records, table)
    assert table.filter(pl.col("response") == package.responses[0].name)["value"].min() > 0


def test_one_command_lists_every_package_with_its_responses_licence_and_needs(datamill) -> None:
    text = datamill("packages").stdout
    told = json.loads(datamill("packages", "--json").stdout)
    facts = {package["name"]: package for package in told["packages"]}
    folders = {path.parent.name for path in (ROOT / "packages").glob("*/run.sh")}
    assert folders <= set(facts)
    for name, package in facts.items():
        assert f"\n{name}: {package['measures']}\n" in f"\n{text}", name
        assert len(package["measures"]) > 20
        assert package["licence"]
        for response in package["responses"]:
            check_unit(response["unit"], where=name)
            assert f"{response['name']} (" in text
        assert (package["kind"] == "load") == (not package["responses"])
    repeated = {name for name, package in facts.items() if any(r["repeated"] for r in package["responses"])}
    assert repeated == {"aes", "dhrystone", "fft", "fft-alloc", "http", "rpc", "strings"}
    assert "many measurements in one execution: transform_time_s" in text
    assert facts["perl"]["fetched_first"] == ["perl"]
    assert facts["xz"]["fetched_first"] == ["xz-utils", "snappy"]
    assert not facts["spec-cpu2006"]["runs_here"]
    assert "never tried with the real suites" in facts["spec-cpu2006"]["needs"]


def test_a_package_whose_program_is_missing_says_so_and_names_it(datamill, tmp_path: Path) -> None:
    datamill.environment["PATH"] = str(tmp_path)
    assert "cannot run here: not on this machine: stress-ng, awk" in datamill("packages", "stress-ng").stdout
    facts = json.loads(datamill("packages", "--json", "stress-ng").stdout)["packages"]
    assert facts[0]["missing_programs"] == ["stress-ng", "awk"]
    assert not facts[0]["runs_here"]
    result = datamill("new", "stress", "--from", "stress-ng")
    assert result.returncode == 0, result.stderr
    assert "stress-ng cannot run here yet" in result.stdout
    assert_refused(datamill("new", "mail", "--from", "perl"), "not on this machine: cc, make")


def test_without_an_archive_the_user_is_told_to_give_the_sources(datamill, tmp_path: Path) -> None:
    datamill.environment["PATH"] = str(tmp_path)
    result = datamill("new", "server", "--from", "redis")
    assert_refused(result, "apt-get is not on this machine", "--source redis=TARBALL")
    (tmp_path / "other.tar.gz").write_bytes(b"no archive")
    result = datamill("new", "server", "--from", "redis", "--source", "redis=other.tar.gz")
    assert_refused(result, "other.tar.gz is not a tar archive that can be read")
    result = datamill("new", "server", "--from", "redis", "--source", "redis=missing.tar.gz")
    assert_refused(result, "missing.tar.gz: there is no such file")
    assert not (tmp_path / "server").exists()
    assert not list(tmp_path.glob(".server*"))


def test_an_unwritable_cache_is_named_with_the_remedy(datamill, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    datamill.environment["XDG_CACHE_HOME"] = str(tmp_path / "file")
    result = datamill("new", "server", "--from", "redis")
    assert_refused(result, "downloads cannot be kept", "XDG_CACHE_HOME")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "dhrystones"], ['no package "dhrystones"', 'Did you mean "dhrystone"?']),
        (["--from", "quake"], ['no package "quake"', "Known: ", "datamill packages"]),
        (["--from", "load-cpu"], ["load-cpu is a background load", "--from xz --from load-cpu"]),
        (["--from", "fft", "--from", "fft"], ['package "fft" is named twice']),
        (["--source", "perl=x"], ["--source needs a package"]),
        (["--from", "fft", "--source", "perl=x"], ['no package here has sources called "perl"']),
        (["--from", "perl", "--source", "perl"], ['"perl" is not NAME=TARBALL']),
    ],
)
def test_what_cannot_be_started_from_is_refused_and_leaves_nothing(
    datamill, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    assert_refused(datamill("new", "mine", *arguments), *words)
    # The cache is there before any command.
    assert {path.name for path in tmp_path.iterdir()} <= {".cache"}


def test_packages_refuses_a_name_that_it_does_not_know(datamill) -> None:
    assert_refused(datamill("packages", "latte"), 'no package "latte"', 'Did you mean "latt"?')


def test_several_packages_make_one_experiment_with_what_they_have_in_common(datamill, tmp_path: Path) -> None:
    result = datamill("new", "both", "--from", "fft", "--from", "fft-alloc", "--from", "load-cpu")
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "both" / "experiment.toml").read_text()
    assert "[responses.transforms_per_s]\n" in text
    assert "[responses.transform_time_s]  # measured as often as [replication] asks" in text
    assert 'background_load = ["none", "load-cpu"]' in text
    plain, allocating = (
        (tmp_path / "both" / "packages" / name / "env").read_text() for name in ("fft", "fft-alloc")
    )
    assert allocating.startswith(plain)
    assert allocating.endswith("ALLOCATE='1'\n")
    datamill("new", "apart", "--from", "fft", "--from", "dhrystone")
    assert "[responses.wall_time]" in (tmp_path / "apart" / "experiment.toml").read_text()
    for name in ("both", "apart"):
        result = datamill("check", name)
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", [name for name, package in PACKAGES.items() if package.kind == "load"])
def test_a_background_load_keeps_busy_until_it_is_stopped(tmp_path: Path, name: str) -> None:
    package = tmp_path / name
    shutil.copytree(PACKAGES[name].folder, package)
    (package / "env").write_text("")
    shipped = {path.name for path in package.iterdir()}
    load = subprocess.Popen([package / "run.sh"], cwd=package, start_new_session=True, stderr=subprocess.PIPE)
    # What it makes on disk shows that its programs run; the file of load-io comes and goes.
    made: set[str] = set()
    deadline = time.monotonic() + 300
    while not made and time.monotonic() < deadline:
        made = {path.name for path in package.iterdir()} - shipped
    time.sleep(1)
    assert load.poll() is None
    os.killpg(load.pid, signal.SIGKILL)
    assert load.stderr is not None
    assert load.stderr.read() == b""
    load.wait()
    assert made
    assert subprocess.run([package / "collect.sh"], cwd=package, check=False).returncode == 0


SPEC_TOOL = """#!/bin/sh
# A stand-in for runspec and runcpu: the same options, the same raw result.
for option; do
    case $option in
    --config=*) config=$SPEC/config/${option#--config=} ;;
    --action=build) action=build ;;
    --*) ;;
    *) benchmark=$option ;;
    esac
done
[ -f "$config" ] || { echo "no config" >&2; exit 1; }
if [ "$action" = build ]; then
    echo 'int main(void) { return 0; }' >"$SPEC/exe.c"
    cc -O2 -o "$SPEC/exe" "$SPEC/exe.c"
    exit
fi
"$SPEC/exe" || exit 1
mkdir -p "$SPEC/result"
benchmark=$(echo "$benchmark" | tr . _)
cat >"$SPEC/result/CPU.002.raw.rsf" <<END
spec.cpu@SUITE@.results.$benchmark.base.000.benchmark: $benchmark
spec.cpu@SUITE@.results.$benchmark.base.000.reported_time: 12.345678
spec.cpu@SUITE@.results.$benchmark.base.000.valid: S
END
"""


@pytest.mark.parametrize(("suite", "tool"), [("2006", "runspec"), ("2017", "runcpu")])
def test_the_adapter_for_spec_builds_runs_and_reads_the_time_with_a_stand_in(
    datamill, tmp_path: Path, suite: str, tool: str
) -> None:
    installed = tmp_path / "installed"
    for folder in ("bin", "config", "result"):
        (installed / folder).mkdir(parents=True)
    (installed / "shrc").write_text('SPEC=$PWD; PATH=$SPEC/bin:$PATH; export SPEC PATH\n: "$UNSET"\n')
    (installed / "config" / "mine.cfg").write_text("CC = gcc\n")
    (installed / "result" / "CPU.001.raw.rsf").write_text("spec.cpu.results.x.base.000.reported_time: 1\n")
    (installed / "bin" / tool).write_text(SPEC_TOOL.replace("@SUITE@", suite))
    (installed / "bin" / tool).chmod(0o755)
    name = f"spec-cpu{suite}"
    result = datamill("new", "small", "--from", name)
    assert f"{name} needs your installation of SPEC CPU" in result.stdout
    with (tmp_path / "small" / "packages" / name / "env").open("a") as env:
        env.write(f"SPEC_ROOT={installed}\nSPEC_CONFIG=mine.cfg\nSPEC_BENCHMARK=400.perlbench\n")
    warned = datamill("check", "small", "--allow-trials", "100")
    assert f'folders = ["{installed}"]' in " ".join(warned.stdout.split()), warned.stdout
    experiment = tmp_path / "small" / "experiment.toml"
    path = f'path = "packages/{name}"\n'
    experiment.write_text(experiment.read_text().replace(path, f'{path}folders = ["{installed}"]\n'))
    before = {file: file.read_bytes() for file in installed.rglob("*") if file.is_file()}
    records, _ = run_small(datamill, name)
    assert [record["metrics"] for record in records] == [{"spec_time_s": [12.345678]}] * 2
    if all(record["isolation"]["kind"] != "plain" for record in records):
        after = {file: file.read_bytes() for file in installed.rglob("*") if file.is_file()}
        assert after == before


def test_the_adapter_for_spec_says_what_is_missing_in_env(tmp_path: Path) -> None:
    package = tmp_path / "spec"
    shutil.copytree(PACKAGES["spec-cpu"].folder, package)
    for values, words in (
        ({}, "put the folder of your SPEC CPU installation into env"),
        (
            {"SPEC_ROOT": "/nowhere", "SPEC_CONFIG": "c", "SPEC_BENCHMARK": "b", "SPEC_SUITE": "2000"},
            "2006 or 2017",
        ),
        (
            {"SPEC_ROOT": "/nowhere", "SPEC_CONFIG": "c", "SPEC_BENCHMARK": "b", "SPEC_SUITE": "2017"},
            "no file shrc",
        ),
        (
            {"SPEC_ROOT": "/nowhere", "SPEC_CONFIG": "c", "SPEC_BENCHMARK": "b", "SPEC_SUITE": "2017"},
            'folders = ["/nowhere"]',
        ),
    ):
        result = subprocess.run(
            [package / "run.sh"], cwd=package, env={"PATH": os.environ["PATH"], **values},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 2
        assert words in result.stderr


@pytest.mark.parametrize("name", [p.name for p in PACKAGES.values() if any(r.repeated for r in p.responses)])
def test_a_package_takes_as_many_measurements_as_it_is_asked_for(tmp_path: Path, name: str) -> None:
    package = PACKAGES[name]
    shutil.copytree(package.folder, tmp_path / "package")
    environment = {"PATH": os.environ["PATH"], **dict(package.env), "BATCH": "40"}
    if (setup := tmp_path / "package/setup.sh").exists():
        subprocess.run([setup], cwd=tmp_path / "package", env=environment, check=True)
    # As few as tell the two apart, and from what is usual: `aes` takes two seconds for each.
    asked = {"DATAMILL_MEASUREMENTS": "3", "DATAMILL_WARMUP": "1"}
    subprocess.run(
        [tmp_path / "package/run.sh"], cwd=tmp_path / "package", env=environment | asked, check=True
    )
    if not any((tmp_path / "package").rglob("metrics.json")):
        # It writes them from what `run.sh` left.
        subprocess.run(
            [tmp_path / "package/collect.sh"], cwd=tmp_path / "package", env=environment, check=True
        )
    (file,) = (tmp_path / "package").rglob("metrics.json")
    metrics = json.loads(file.read_text())
    for response in package.responses:
        if response.repeated:
            assert len(metrics[response.name]) == 4, response.name
            assert min(metrics[response.name]) > 0
