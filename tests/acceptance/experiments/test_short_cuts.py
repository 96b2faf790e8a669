"""Experiments whose packages are commands and whose factors are a line: run, repeated, and what they find."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

import polars as pl

HEAD = '[experiment]\nname = "short"\nreplicates = 6\nseed = 3\n'
TWO = """
[[package]]
name = "short"
command = "sleep 0.02"
directory = "data"

[[package]]
name = "long"
command = "sleep 0.06; rm input && test ! -e input"
directory = "data"
"""
SWEPT = """
[[package]]
name = "sleeper"
command = "sleep 0.0{tenths}"
directory = ""

[[package]]
name = "heedful"
command = "sleep 0.0$TENTHS"
directory = ""

[factors.tenths]
argument = "{tenths}"
levels = [2, 6]

[factors.variable]
env = "TENTHS"
levels = [2, 6]
"""
REVISIONS = """
[[package]]
name = "before"
git = "repository"
rev = "HEAD~1"
build = "make CC=cc"
command = "./prog"

[[package]]
name = "after"
git = "repository"
build = "make CC=cc"
command = "./prog"

[nuisance]
link_order = { fix = "reverse" }
"""
SOURCES = """#include <unistd.h>
int main(void) { return usleep(%s); }
"""


def read_means(bundle: Path, *by: str) -> dict[tuple[object, ...], float]:
    table = pl.read_csv(bundle / "table.csv").filter(pl.col("response") == "wall_time", pl.col("valid"))
    means = table.group_by(by).agg(pl.col("value").mean())
    return {tuple(map(str, row[:-1])): row[-1] for row in means.iter_rows()}


def test_two_commands_are_compared_and_change_no_file(datamill) -> None:
    kept = datamill.folder / "data" / "input"
    kept.parent.mkdir()
    kept.write_text("kept")
    (datamill.folder / "experiment.toml").write_text(HEAD + TWO)
    ran = datamill("run", "experiment.toml", "--out", "bundle")
    assert ran.returncode == 0, ran.stderr
    assert kept.read_text() == "kept"
    bundle = datamill.folder / "bundle"
    means = read_means(bundle, "package")
    assert 0.03 < means[("long",)] - means[("short",)] < 0.2
    assert "short is better" in ran.stdout
    again = datamill("run", "bundle", "--out", "again")
    assert again.returncode == 0, again.stderr
    for name in ("experiment.toml", "packages/short.tar.gz", "packages/long.tar.gz"):
        assert (bundle / name).read_bytes() == (datamill.folder / "again" / name).read_bytes()


def test_levels_in_commands_and_variables_are_set_read_back_and_found(datamill) -> None:
    (datamill.folder / "experiment.toml").write_text(HEAD.replace("replicates = 6", "replicates = 3") + SWEPT)
    ran = datamill("run", "experiment.toml", "--out", "bundle")
    assert ran.returncode == 0, ran.stderr
    bundle = datamill.folder / "bundle"
    argument, variable = read_means(bundle, "package", "tenths"), read_means(bundle, "package", "variable")
    assert 0.03 < argument["sleeper", "6"] - argument["sleeper", "2"] < 0.2
    assert 0.03 < variable["heedful", "6"] - variable["heedful", "2"] < 0.2
    assert abs(variable["sleeper", "6"] - variable["sleeper", "2"]) < 0.03
    for line in (bundle / "log.jsonl").read_text().splitlines():
        for fact in json.loads(line).get("factors", []):
            assert fact["asked"] == fact["observed"]
    with tarfile.open(bundle / "factors" / "tenths.tar.gz") as archive:
        assert set(archive.getnames()) == {"factor.toml", "levels", "set", "verify"}


def test_two_revisions_of_a_repository_are_built_and_compared(datamill) -> None:
    repository = datamill.folder / "repository"
    repository.mkdir()
    (repository / "Makefile").write_text("prog: main.o\n\t$(CC) -o prog main.o\n")

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=repository, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q")
    for pause_us in (60000, 20000):
        (repository / "main.c").write_text(SOURCES % pause_us)
        git("add", ".")
        git("commit", "-qm", str(pause_us))
    (datamill.folder / "experiment.toml").write_text(HEAD + REVISIONS)
    ran = datamill("run", "experiment.toml", "--out", "bundle")
    assert ran.returncode == 0, ran.stderr
    means = read_means(datamill.folder / "bundle", "package")
    assert 0.03 < means["before",] - means["after",] < 0.2
    text = (datamill.folder / "bundle" / "experiment.toml").read_text()
    assert git("rev-parse", "HEAD") in text
    assert git("rev-parse", "HEAD~1") in text


def test_a_new_experiment_of_commands_runs_as_it_is(datamill) -> None:
    work = datamill.folder / "work"
    work.mkdir()
    (work / "f").write_text("here")
    bundle, datamill.folder = datamill.folder / "bundle", work
    commands = ("sleep 0.01; cat f", "sleep 0.05; cat f")
    made = datamill("new", "cmp", *(part for text in commands for part in ("--command", text)))
    assert made.returncode == 0, made.stderr
    checked = datamill("check", "cmp")
    assert checked.returncode == 0, checked.stderr
    ran = datamill("run", "cmp", "--out", bundle)
    assert ran.returncode == 0, ran.stderr
    assert "sleep-0.01-cat-f is better" in ran.stdout
