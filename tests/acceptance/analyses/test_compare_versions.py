"""`datamill compare` as a user types it, and what it says to bad input."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from acceptance.conftest import Command, assert_refused
from made.nested_draws import draw_version, write_csv

import datamill as library


@pytest.fixture
def two(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    spreads = (0.5, 0.3, 1.0)
    versions = [
        draw_version(rng, "1.0", (8, 3, 5), spreads=spreads),
        draw_version(rng, "1.1", (8, 3, 5), mean=104.0, spreads=spreads),
    ]
    return write_csv(tmp_path / "two.csv", versions)


def test_a_change_is_told_with_size_interval_and_n(datamill: Command, two: Path) -> None:
    result = datamill("compare", two, "--direction", "lower", "--figure", "f.png", "--html", "p.html")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("1.1 has changed: its value is ")
    assert "higher than 1.0's, which is worse." in result.stdout
    assert "n = 8 builds of 3 executions of 5 measurements" in result.stdout
    assert (datamill.folder / "f.png").read_bytes().startswith(b"\x89PNG")
    assert "1.1 has changed" in (datamill.folder / "p.html").read_text()


def test_json_has_every_digit_and_the_same_verdict_as_the_library(datamill: Command, two: Path) -> None:
    result = datamill("compare", two, "--json", "--threshold", "10%")
    content = json.loads(result.stdout)
    assert [change["verdict"] for change in content["changes"]] == ["unchanged"]
    assert content["threshold"] == pytest.approx(0.1)
    found = library.compare(two, threshold=0.1)
    assert content["changes"][0]["difference"]["low"] == found.comparison.changes[0].difference.low


def test_files_without_versions_are_versions_and_are_warned_about(datamill: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for name in ("old", "new"):
        file = write_csv(tmp_path / f"{name}.csv", [draw_version(rng, "x", (4, 2, 2))])
        file.write_text("\n".join(line.split(",", 1)[1] for line in file.read_text().splitlines()) + "\n")
    result = datamill("compare", "old.csv", "new.csv")
    assert result.returncode == 0, result.stderr
    assert "Each version against old" in result.stdout
    assert "not measured in one experiment" in result.stdout.replace("\n  ", " ")


def test_versions_whose_names_clash_get_the_name_of_their_file(datamill: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for name in ("monday", "tuesday"):
        write_csv(tmp_path / f"{name}.csv", [draw_version(rng, "main", (4, 2, 2))])
    result = datamill("compare", "monday.csv", "tuesday.csv", "--json")
    assert [item["version"] for item in json.loads(result.stdout)["versions"]] == ["monday", "tuesday"]


def test_a_series_tells_where_it_changes_and_draws_its_history(datamill: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    versions = [
        draw_version(rng, f"v{at}", (5, 2, 2), mean=100.0 + 3 * (at >= 6), spreads=(0.6, 0.3, 0.3))
        for at in range(12)
    ]
    write_csv(tmp_path / "nightly.csv", versions)
    result = datamill("compare", "nightly.csv", "--series", "--figure", "history.svg")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("value changes 1 time in 12 versions: at v6.")
    assert "From v6 up to v11, value is " in result.stdout.replace("\n", " ")
    assert "<svg" in (datamill.folder / "history.svg").read_text()


def test_a_check_fails_only_when_a_version_is_worse_by_more_than_the_threshold(
    datamill: Command, two: Path
) -> None:
    assert datamill("compare", two, "--check", "worse", "--direction", "lower").returncode == 1
    assert datamill("compare", two, "--check", "worse", "--direction", "higher").returncode == 0
    wide = datamill("compare", two, "--check", "worse", "--direction", "lower", "--threshold", "0.2")
    assert wide.returncode == 0
    assert datamill("compare", two).returncode == 0


def test_rows_can_be_chosen_by_the_level_of_a_column(datamill: Command, two: Path) -> None:
    lines = two.read_text().splitlines()
    mixed = [
        f"{lines[0]},machine",
        *(f"{line},{'a' if at % 2 else 'b'}" for at, line in enumerate(lines[1:])),
    ]
    two.write_text("\n".join(mixed) + "\n")
    result = datamill("compare", two, "--where", "machine=a", "--json")
    assert json.loads(result.stdout)["n"] == 120


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.csv",), ("missing.csv", "no such file")),
        (("two.csv", "two.csv"), ("two.csv", "given twice")),
        (("two.csv", "--baseline", "1.7"), ('no version "1.7"',)),
        (("two.csv", "--where", "aslr=on"), ('no column "aslr"', "The columns are")),
        (("two.csv", "--where", "aslr"), ("--where", "FACTOR=LEVEL")),
        (("two.csv", "--where", "version=1.0"), ("one version only",)),
        (("two.csv", "--threshold", "1"), ("--threshold", "1%")),
        (("two.csv", "--threshold", "-3%"), ("--threshold",)),
        (("two.csv", "--series"), ("a series takes 3",)),
        (("two.csv", "--check", "worse"), ("--direction lower",)),
        (("two.csv", "--confidence", "0.99", "--alpha", "0.05"), ("contradict each other",)),
        (("two.csv", "--build", "binary"), ('no column "binary"',)),
        (("two.csv", "--figure", "f.gif"), ("f.gif",)),
    ],
)
def test_bad_input_ends_with_what_to_do(
    datamill: Command, two: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert two.is_file()
    assert_refused(datamill("compare", *arguments), *words)


def test_units_that_differ_between_versions_are_refused(datamill: Command, two: Path) -> None:
    lines = two.read_text().splitlines()
    two.write_text("\n".join(line.replace(",ms", ",s") if line.startswith("1.1") else line for line in lines))
    assert_refused(datamill("compare", two), "two.csv", '"ms"', '"s"', "one unit")


def test_a_single_measurement_cannot_be_compared(datamill: Command, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("version,build,value\na,1,5\nb,1,5\nb,2,6\n")
    assert_refused(datamill("compare", "few.csv"), "few.csv", "version a has a single measurement")


NESTED = """
[experiment]
name = "nested"
question = "Which is faster?"
seed = 3
[replication]
builds = 2
executions = 2
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[responses.rate]
unit = "op/s"
formula = "operations / wall_time_s"
direction = "higher"
[factors]
aslr = ["on", "off"]
"""


def test_packages_of_a_nested_bundle_are_versions_at_a_chosen_level_of_other_factors(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=NESTED, setup="#!/bin/sh\nexit 0\n")
    ran = datamill("run", "experiment.toml", "--out", "bundle")
    assert "n = 2 builds of 2 executions at each of 2 design points." in ran.stdout.replace("\n", " "), (
        ran.stderr
    )
    assert_refused(datamill("compare", "bundle"), "package and aslr vary", "--where aslr=")
    result = datamill("compare", "bundle", "--where", "aslr=on", "--json")
    content = json.loads(result.stdout)
    assert [item["version"] for item in content["versions"]] == ["a", "b"]
    assert [item["builds"] for item in content["versions"]] == [2, 2]
    assert content["direction"] == "higher"
    assert content["changes"][0]["common_builds"] == 0
    shared = json.loads(datamill("compare", "bundle", "--where", "package=a", "--json").stdout)
    assert (shared["changes"][0]["common_builds"], shared["changes"][0]["df"]) == (2, 1)
    text = datamill("compare", "bundle", "--where", "aslr=on", "--threshold", "0.01%").stdout
    assert "of machine time" in text.replace("\n", " ") or "has changed" in text


def test_the_text_names_the_baseline_and_why_and_a_series_warns_of_rows_that_alternate(
    datamill: Command, tmp_path: Path
) -> None:
    rng = np.random.default_rng(6)
    file = write_csv(tmp_path / "t.csv", [draw_version(rng, name, (4, 2, 2)) for name in ("v2", "v1", "v3")])
    result = datamill("compare", file)
    assert "Each version against v2 (the first in the data; --baseline names another)" in result.stdout
    assert "alternate" not in datamill("compare", file, "--series").stdout
    named = datamill("compare", file, "--baseline", "v1", "--json")
    assert json.loads(named.stdout)["baseline"] == {"version": "v1", "reason": "as asked for"}
    head, *lines = file.read_text().splitlines()
    half = len(lines) // 2
    mixed = [line for pair in zip(lines[:half], lines[half:], strict=True) for line in pair]
    file.write_text("\n".join([head, *mixed]) + "\n")
    told = " ".join(datamill("compare", file, "--series").stdout.split())
    assert "rows of different versions alternate in " in told
    assert "in the order of their first rows (v2, v1, v3)" in told
