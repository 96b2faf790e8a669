"""A screening, what it finds, and the experiment that follows it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
from acceptance.conftest import Command, assert_refused

from datamill.results.bundles.opening import open_bundle

#: Of these the package feels the locale alone: by far more than what a busy machine adds.
SCREENING = """
[experiment]
name = "screened"
question = "Which hidden factors move it?"
design = "screening"
replicates = 2
[[package]]
name = "a"
path = "a"
[factors]
niceness = [0, 5]
"""
RUN = '#!/bin/sh\n[ "$LC_ALL" = C ] && sleep 0.25\nexec sleep 0.01\n'


def test_a_screening_names_what_moves_the_package_and_is_followed_by_its_survivors(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=SCREENING, packages=("a",), run=RUN)
    checked = datamill("check", "experiment.toml")
    assert checked.returncode == 0, checked.stderr
    assert "design           screening: " in checked.stdout
    assert "Main effects are free of each other and of two-factor interactions." in checked.stdout
    assert "link_order is left as it is: no package has a setup.sh" in checked.stdout

    result = datamill("run", "experiment.toml", "--out", "out")
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    assert "move wall_time: locale by +" in said or "moves wall_time: locale by +" in said, said
    assert "run --after-screening out" in said
    # Of its many interactions only the number is told.
    assert "interactions of factors cannot be estimated from the points of a screening" in said
    assert "not estimable" not in said.lower()
    bundle = open_bundle(datamill.folder / "out")
    assert bundle.design.kind == "screening"
    screened = {factor.name for factor in bundle.design.crossed}
    assert {"locale", "aslr", "env_padding", "niceness"} <= screened
    page = (datamill.folder / "out" / "report.html").read_text()
    assert "What moves wall_time" in page
    assert "datamill run --after-screening ." in page
    assert "Main effects are free of each other and of" in page
    assert 'data-name="screening"' in page

    order = datamill("run", "--after-screening", "out", "--dry-run")
    assert order.returncode == 0, order.stderr
    assert "locale: varied over C.UTF-8, C (detected: +" in order.stderr
    head, *trials = order.stdout.splitlines()
    at = head.split("\t").index("locale")
    assert {line.split("\t")[at] for line in trials} == {"C.UTF-8", "C"}

    followed = datamill("run", "--after-screening", "out", "--out", "next")
    said = followed.stdout + followed.stderr
    assert followed.returncode == 0, said
    assert "After the screening in out:" in said
    assert "locale: varied over C.UTF-8, C" in said
    assert "aslr: fixed at on" in said or "aslr: varied over on, off" in said
    question = tomllib.loads((datamill.folder / "next" / "experiment.toml").read_text())
    assert "design" not in question["experiment"]
    assert question["experiment"]["question"] == "Which hidden factors move it?"
    assert question["factors"]["locale"] == ["C.UTF-8", "C"]
    assert screened == {*question["factors"], *question["nuisance"]}
    design = json.loads((datamill.folder / "next" / "design.json").read_text())
    assert design["kind"] == "full factorial"
    assert len(design["trials"]) == 2 * 2 ** len(question["factors"])
    table = pl.read_parquet(datamill.folder / "next" / "table.parquet")
    times = table.filter(pl.col("response") == "wall_time").group_by("locale").agg(pl.col("value").mean())
    means = dict(times.iter_rows())
    assert means["C"] > means["C.UTF-8"] + 0.1


def test_a_file_that_follows_a_screening_keeps_its_own_question(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    sections = (
        '[nuisance]\npolicy = "fix"\nscheduler_policy = { fix = "other" }\n'
        'stack_limit = { fix = "default" }\nuser_name_length = { fix = 4 }\n'
        'working_directory_length = { fix = 1 }\ncache_preload = { fix = "off" }\n'
    )
    make_experiment(text=SCREENING + sections, packages=("a",), run=RUN)
    assert datamill("run", "experiment.toml", "--out", "out").returncode == 0
    (datamill.folder / "next.toml").write_text(
        '[experiment]\nname = "own"\nreplicates = 3\n[[package]]\nname = "a"\npath = "a"\n'
        "[factors]\nniceness = [0, 1]\n"
    )
    result = datamill("run", "--after-screening", "out", "next.toml", "--dry-run")
    assert result.returncode == 0, result.stderr
    assert "niceness: as next.toml says" in result.stderr
    head, *trials = result.stdout.splitlines()
    names = head.split("\t")
    assert {line.split("\t")[names.index("niceness")] for line in trials} == {"0", "1"}
    assert {line.split("\t")[names.index("locale")] for line in trials} == {"C.UTF-8", "C"}
    assert len(trials) % 12 == 0


def test_what_is_no_ended_screening_is_refused(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(replicates=1)
    assert datamill("run", "experiment.toml", "--out", "full").returncode == 0
    assert_refused(
        datamill("run", "--after-screening", "full"),
        "this experiment is not a screening",
        'design = "screening"',
    )
    assert_refused(datamill("run", "--after-screening", "nowhere"), "this is not a bundle")
    result = datamill("run", "--after-screening", "full", "--resume", "full")
    assert result.returncode == 2
    assert "does not go with --resume" in result.stderr


def test_a_fraction_says_on_the_page_what_is_aliased(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    text = SCREENING.replace('"screening"', '"fractional"\nresolution = 3').replace(
        "niceness = [0, 5]", 'niceness = [0, 5]\naslr = ["on", "off"]\nlocale = ["C.UTF-8", "C"]'
    )
    make_experiment(text=text, packages=("a",), run=RUN)
    checked = datamill("check", "experiment.toml").stdout
    assert "design points    4 of 8 = 2 x 2 x 2" in checked
    assert "generators       locale = niceness x aslr" in checked
    result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    page = (datamill.folder / "out" / "report.html").read_text()
    # In the terminal as well, unless three worse warnings about this machine stand before it.
    assert "may in truth be that of an interaction" in page
    assert "Of 8 combinations these were chosen: 2^(3-1) fraction of resolution III." in page
    assert "Cannot be told apart: niceness = aslr × locale." in page


def test_a_level_that_gave_nothing_is_not_what_the_follow_up_is_fixed_at(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    broken = RUN.replace("#!/bin/sh\n", '#!/bin/sh\n[ "$LC_ALL" = C ] || exit 3\n')
    assert broken != RUN
    make_experiment(text=SCREENING, packages=("a",), run=broken)
    result = datamill("run", "experiment.toml", "--out", "out", "--keep-going")
    assert "Nothing is known about locale" in result.stdout + result.stderr
    order = datamill("run", "--after-screening", "out", "--dry-run")
    assert order.returncode == 0, order.stderr
    assert "locale: fixed at C (no valid trial had C.UTF-8)" in order.stderr
    assert "design points have no data: main effects are not as free" in order.stderr
    head, *trials = order.stdout.splitlines()
    at = head.split("\t").index("locale")
    assert {line.split("\t")[at] for line in trials} == {"C"}


def test_a_screening_without_survivors_does_not_advise_to_go_on_with_them(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    constant = '[responses.always]\nformula = "1 + 0 * wall_time_s"\nunit = "s"\ndirection = "lower"\n'
    make_experiment(text=SCREENING + constant, packages=("a",), run=RUN)
    result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Go on with what survived" not in result.stdout + result.stderr
    page = (datamill.folder / "out" / "report.html").read_text()
    assert "No factor survived" in page
    assert "datamill run --after-screening ." not in page
