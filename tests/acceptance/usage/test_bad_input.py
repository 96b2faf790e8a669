"""Bad input: a clear message, status 2, nothing lost."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import polars as pl
import pytest
from acceptance.conftest import EXPERIMENT, assert_refused


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("aslr", "alsr", ("experiment.toml:14", 'unknown factor "alsr"', 'Did you mean "aslr"?')),
        ('"off"', '"of"', ("experiment.toml:14", 'unknown level "of"', 'Did you mean "off"?')),
        ("replicates", "replicate", ("experiment.toml:5", "unknown key", 'Did you mean "replicates"?')),
        ("op/s", "ops/sec", ("experiment.toml:16", 'unknown unit "sec"')),
        ("/ wall_time_s", "/", ("experiment.toml:17", "not a formula")),
    ],
)
def test_a_mistake_in_the_experiment_file(datamill, make_experiment, old, new, words) -> None:
    make_experiment(text=EXPERIMENT.replace(old, new, 1))
    assert_refused(datamill("check", "experiment.toml"), *words)
    assert_refused(datamill("run", "experiment.toml", "--out", "bundle"), *words)
    assert not (datamill.folder / "bundle").exists()


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("/no/such/folder", ("is not a folder of this machine",)),
        ("/etc", ("cannot be shown", "no trial sees")),
        ("HERE", ("holds the bundle", "another bundle with --out")),
    ],
)
def test_a_folder_that_a_package_needs_and_cannot_have(datamill, make_experiment, folder, words) -> None:
    folder = folder.replace("HERE", str(datamill.folder / "out"))
    (datamill.folder / "out").mkdir()
    text = EXPERIMENT.replace("[[package]]\n", f'[[package]]\nfolders = ["{folder}"]\n', 1)
    make_experiment(text=text)
    refused = datamill("run", "experiment.toml", "--out", "out/bundle")
    assert_refused(refused, "[[package]] folders", *words)
    assert not any((datamill.folder / "out").iterdir())


def test_a_verb_that_does_not_exist(datamill) -> None:
    assert_refused(datamill("rnu"), 'unknown verb "rnu"', 'Did you mean "run"?')


def test_a_file_that_does_not_exist(datamill) -> None:
    assert_refused(datamill("check", "nowhere.toml"), "nowhere.toml", "no such file")
    assert_refused(datamill("report", "nowhere"), "nowhere", "not a bundle")
    assert_refused(datamill("run", "--resume", "nowhere"), "nowhere", "not a bundle")


def test_a_missing_script(datamill, make_experiment, tmp_path: Path) -> None:
    make_experiment()
    (tmp_path / "a" / "collect.sh").unlink()
    needed = 'response "rate" needs "operations", which package "a" cannot report: it has no collect.sh'
    assert_refused(datamill("check", "experiment.toml"), needed)
    (tmp_path / "a" / "run.sh").unlink()
    assert_refused(datamill("check", "experiment.toml"), 'package "a" has no run.sh')


def test_a_script_that_is_not_executable(datamill, make_experiment, tmp_path: Path) -> None:
    make_experiment()
    (tmp_path / "b" / "run.sh").chmod(0o644)
    assert_refused(datamill("check", "experiment.toml"), "run.sh is not executable", "chmod +x")


@pytest.mark.parametrize("name", ["../outside", "/absolute"])
def test_an_archive_with_a_member_that_escapes(datamill, make_experiment, tmp_path: Path, name: str) -> None:
    make_experiment(text=EXPERIMENT.replace('path = "a"', 'path = "a.tar.gz"'))
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "a", arcname=".")
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    assert_refused(datamill("check", "experiment.toml"), "a.tar.gz", name)
    assert_refused(datamill("run", "experiment.toml", "--out", "bundle"), "a.tar.gz", name)


def test_a_script_that_fails_stops_the_experiment_with_its_last_words(datamill, make_experiment) -> None:
    make_experiment(run="#!/bin/sh\necho the lights are out >&2\nexit 3\n")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert_refused(result, "5 trials failed in a row", "run.sh", "status 3", "the lights are out")
    assert len((datamill.folder / "bundle" / "log.jsonl").read_text().splitlines()) == 5


def test_a_script_that_fails_at_times_is_a_failed_trial_and_the_rest_is_kept(
    datamill, make_experiment
) -> None:
    make_experiment(replicates=8)
    (datamill.folder / "b" / "run.sh").write_text("#!/bin/sh\nexit 1\n")
    result = datamill("run", "experiment.toml", "--out", "bundle", "--keep-going")
    assert_refused(result, "16", "failed")
    table = pl.read_parquet(datamill.folder / "bundle" / "table.parquet").filter(pl.col("response") == "rate")
    assert table.height == 32
    assert table.filter(pl.col("valid"))["package"].unique().to_list() == ["a"]
    assert (datamill.folder / "bundle" / "report.html").exists()


def test_a_script_that_hangs_is_killed_and_said(datamill, make_experiment) -> None:
    text = EXPERIMENT.replace('"20s"', '"300ms"')
    # A length that nobody else on this machine sleeps.
    asleep = f"sleep 600.{os.getpid()}"
    make_experiment(text=text, run=f"#!/bin/sh\n{asleep} &\n{asleep}\n")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert_refused(result, "run.sh exceeded its 0.3 s and was killed")
    leftover = subprocess.run(["pgrep", "-x", "-f", asleep], capture_output=True, text=True, check=False)
    assert leftover.stdout == ""


def test_a_script_that_daemonises_is_reported_and_its_daemon_killed(datamill, make_experiment) -> None:
    asleep = f"sleep 601.{os.getpid()}"
    make_experiment(run=f"#!/bin/sh\n(setsid {asleep} >/dev/null 2>&1 &)\nsleep 0.01\n")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    # A busy machine gives warnings of its own, and a terminal shows the first few.
    told = json.loads(datamill("report", "bundle", "--json").stdout)
    assert any("left processes behind" in warning for warning in told["warnings"])
    leftover = subprocess.run(["pgrep", "-x", "-f", asleep], capture_output=True, text=True, check=False)
    assert leftover.stdout == ""


def test_a_script_that_prints_gigabytes_is_measured_and_little_is_kept(datamill, make_experiment) -> None:
    text = EXPERIMENT.replace('aslr = ["on", "off"]', 'aslr = "off"').replace('"20s"', '"600s"')
    make_experiment(replicates=1, text=text, run="#!/bin/sh\nhead -c 2G /dev/zero\n")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert "Traceback" not in result.stdout + result.stderr
    size = sum(path.stat().st_size for path in (datamill.folder / "bundle").rglob("*") if path.is_file())
    assert size < 20e6
    assert '"stdout_bytes":2147483648' in (datamill.folder / "bundle" / "log.jsonl").read_text()


@pytest.mark.parametrize(
    ("collect", "words"),
    [
        ("#!/bin/sh\ntrue\n", "printed no path"),
        ("#!/bin/sh\necho nothing.tar.gz\n", "nothing.tar.gz"),
        ("#!/bin/sh\necho /etc/passwd\n", "/etc/passwd"),
        ("#!/bin/sh\necho /proc/self/status\n", "/proc/self/status"),
        ("#!/bin/sh\necho /\n", "/"),
    ],
)
def test_a_collect_script_that_names_no_archive_of_its_own(datamill, make_experiment, collect, words) -> None:
    make_experiment(collect=collect)
    assert_refused(datamill("run", "experiment.toml", "--out", "bundle"), "collect.sh", words)


def test_a_formula_with_a_name_that_the_package_does_not_report(datamill, make_experiment) -> None:
    make_experiment(text=EXPERIMENT.replace("operations", "operation"))
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert_refused(result, 'needs "operation"', 'Did you mean "operations"?')
    assert len((datamill.folder / "bundle" / "log.jsonl").read_text().splitlines()) == 1


def test_a_division_by_zero_is_said_and_the_observations_are_excluded(datamill, make_experiment) -> None:
    make_experiment(text=EXPERIMENT.replace("/ wall_time_s", "/ (operations - 100)"))
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert_refused(result, "divides by zero")
    table = pl.read_parquet(datamill.folder / "bundle" / "table.parquet").filter(pl.col("response") == "rate")
    assert table["value"].null_count() == table.height == 8


def test_ten_million_trials_are_refused_with_their_number_unless_confirmed(datamill, make_experiment) -> None:
    make_experiment(replicates=1_000_000, text=EXPERIMENT.replace('["on", "off"]', '"100%"'))
    refusal = datamill("run", "experiment.toml", "--out", "bundle")
    assert_refused(
        refusal,
        "4\u202f000\u202f000 trials",
        "2 (package) x 2 (aslr) x 1000000 replicates",
        "--allow-trials 4000000",
    )
    assert_refused(datamill("check", "experiment.toml"), "4\u202f000\u202f000 trials")
    assert datamill("check", "experiment.toml", "--allow-trials", "4000000").returncode == 0


def test_a_machine_that_the_constraints_exclude(datamill, make_experiment) -> None:
    text = EXPERIMENT + '[constraints]\narch = ["pdp11"]\n'
    make_experiment(text=text)
    assert_refused(datamill("run", "experiment.toml"), "pdp11", "may not run here")
    make_experiment(text=EXPERIMENT + '[constraints]\nmin_memory = "900TiB"\n')
    assert_refused(datamill("check", "experiment.toml"), "900.0 TiB", "may not run here")


def test_a_wall_time_that_somebody_changed_is_refused(datamill, make_experiment) -> None:
    make_experiment()
    assert datamill("run", "experiment.toml", "--out", "bundle").returncode == 0
    log = datamill.folder / "bundle" / "log.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    lines[2] = re.sub(r'("run":.*?"wall_time_ns":)(\d+)', r"\g<1>\g<2>0", lines[2])
    log.write_text("".join(lines))
    for arguments in (("report", "bundle"), ("run", "--resume", "bundle"), ("compare", "bundle", "bundle")):
        assert_refused(datamill(*arguments), "log.jsonl:3", "not as it was written")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_loses_nothing_and_the_experiment_resumes(
    datamill, make_experiment, tmp_path: Path
) -> None:
    make_experiment(replicates=10)
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", small], check=True)
    try:
        filler = small / "filler"
        process = datamill.start("run", "experiment.toml", "--out", small / "bundle")
        log = small / "bundle" / "log.jsonl"
        while not log.exists() or log.read_bytes().count(b"\n") < 3:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.01)
        # It stands still until its disk is full: it might end before that on a busy machine.
        process.send_signal(signal.SIGSTOP)
        with filler.open("wb", buffering=0) as handle:
            try:
                while True:
                    handle.write(b"\0" * 4096)
            except OSError:
                handle.flush()
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 2, said
        assert "No space left" in said or "full" in said
        assert "Traceback" not in said
        before = log.read_bytes()
        assert before.endswith(b"\n")
        filler.unlink()
        result = datamill("run", "--resume", small / "bundle")
        assert result.returncode == 0, result.stdout + result.stderr
        assert log.read_bytes().startswith(before)
        table = pl.read_parquet(small / "bundle" / "table.parquet")
        rates = table.filter((pl.col("response") == "rate") & pl.col("valid"))
        assert rates["trial_id"].n_unique() == rates.height == 40
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_bundle_inside_a_package(datamill, make_experiment) -> None:
    make_experiment()
    assert_refused(datamill("run", "experiment.toml", "--out", "a/bundle"), 'inside package "a"', "--out")
    assert not (datamill.folder / "a" / "bundle").exists()


def test_a_pilot_that_fails_keeps_what_the_scripts_printed(datamill, make_experiment) -> None:
    make_experiment(run="#!/bin/sh\necho no such luck >&2\nexit 4\n")
    result = datamill("check", "experiment.toml", "--pilot")
    assert_refused(result, "package a", "package b", "status 4", "no such luck")
    kept = Path(result.stderr.split("What the scripts printed is in ")[1].strip().rstrip("."))
    assert "no such luck" in "".join(path.read_text() for path in kept.rglob("run.err"))
    shutil.rmtree(kept.parent.parent)


def test_a_damaged_log_line_is_named_with_the_way_out(datamill, make_experiment) -> None:
    make_experiment()
    assert datamill("run", "experiment.toml", "--out", "bundle").returncode == 0
    log = datamill.folder / "bundle" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], b"\0garbage\n", *lines[2:]]))
    for arguments in (("report", "bundle"), ("run", "--resume", "bundle")):
        assert_refused(datamill(*arguments), "log.jsonl:2", "replace the line by an empty one")
    log.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert_refused(datamill("report", "bundle"), "log.jsonl:2", "a line before this one is missing")
    log.write_bytes(b"".join([lines[0], b"\n", *lines[2:]]))
    result = datamill("run", "--resume", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 of 8 trials to run" in result.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_report_on_a_full_disk_keeps_the_old_one(datamill, make_experiment, tmp_path: Path) -> None:
    make_experiment()
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", small], check=True)
    try:
        assert datamill("run", "experiment.toml", "--out", small / "bundle").returncode == 0
        before = {path.name: path.read_bytes() for path in (small / "bundle").iterdir() if path.is_file()}
        with (small / "filler").open("wb", buffering=0) as handle, contextlib.suppress(OSError):
            while True:
                handle.write(b"\0" * 4096)
        assert_refused(datamill("report", small / "bundle"), "No space left")
        after = {path.name: path.read_bytes() for path in (small / "bundle").iterdir() if path.is_file()}
        assert after == before
    finally:
        subprocess.run(["umount", "-l", small], check=True)
