"""Commands as names of levels are shortened to what differs."""

from __future__ import annotations

import polars as pl
import pytest

import datamill
from datamill.report.words.short_names import apply_short_names, find_short_names, use_short_names

LONG = [f"sort --parallel={n} --buffer-size=2G /data/input-large.txt" for n in (1, 2, 4)]


@pytest.mark.parametrize(
    ("names", "short", "whole"),
    [
        (
            LONG,
            ["--parallel=1", "--parallel=2", "--parallel=4"],
            "sort NAME --buffer-size=2G /data/input-large.txt",
        ),
        (
            ["/opt/builds/old/bin/tool --all", "/opt/builds/new/bin/tool --all"],
            ["old", "new"],
            "/opt/builds/NAME/bin/tool --all",
        ),
        (
            ["sort -u /data/a-large-file.txt", "sort /data/a-large-file.txt"],
            ["sort -u", "sort"],
            "NAME /data/a-large-file.txt",
        ),
    ],
)
def test_names_are_what_differs_and_say_what_they_stand_for(
    names: list[str], short: list[str], whole: str
) -> None:
    found, stands_for = find_short_names(names)
    assert list(found.values()) == short
    assert stands_for == whole
    for name, own in found.items():
        assert " ".join(whole.replace("NAME", own).split()) == name


@pytest.mark.parametrize(
    "names",
    [
        ["-O0", "-O2"],
        ["gzip --best a-file-of-a-name", "perl script.pl with arguments"],
        [LONG[0]],
        [LONG[0]] * 2,
    ],
)
def test_short_names_and_unlike_commands_stay_whole(names: list[str]) -> None:
    assert find_short_names(names) == ({}, "")


def test_a_name_that_begins_like_another_is_not_cut_in_two() -> None:
    names = ["measure --with=everything-on run", "measure --with=everything-on run twice"]
    with use_short_names([("cmd", names)]):
        assert apply_short_names(names[1]) != apply_short_names(names[0])
    assert apply_short_names(names[1]) == names[1]


def test_verbs_print_short_names_and_programs_read_whole_ones() -> None:
    table = pl.DataFrame({"cmd": LONG * 8, "y": [10 + (i % 3) + i * 37 % 11 / 10 for i in range(24)]})
    for verb in (datamill.anova, datamill.summary, datamill.tests):
        result = verb(table, response="y", factors=["cmd"])
        said = str(result)
        assert "buffer-size" not in said.partition("Names of cmd are shortened: each stands for sort NAME")[0]
        assert LONG[0] in result.json()


def test_a_short_name_is_not_that_of_a_level_of_another_factor() -> None:
    with use_short_names([("cmd", LONG), ("mode", ["on", "off"])]) as notes:
        short = apply_short_names(LONG[0])
    assert short != LONG[0]
    assert notes[0].startswith("Names of cmd are shortened: each stands for")
    for groups in ([("cmd", LONG), ("mode", [short, "off"])], [("mode", [short, "off"]), ("cmd", LONG)]):
        with use_short_names(groups) as notes:
            assert apply_short_names(LONG[0]) == LONG[0]
        assert notes == ()
