"""Warnings: the worst first, each once, three on the first screen."""

from __future__ import annotations

import re
from dataclasses import replace

from made.answered_study import render_page
from made.planted_study import plan_study

from datamill.report.words.warning_order import order_warnings


def test_what_changes_the_answer_comes_before_what_only_explains_it() -> None:
    quiet = "3 trials have several measurements each, which were averaged: these are not replicates."
    plain = "The counter cycles was not available."
    worst = "9 of 10 trials may have been disturbed, and the conclusion depends on them."
    weak = "A verdict rests on so few trials that it takes normal errors for granted."
    idle = "Factor optimization was not effective for package a."
    assert order_warnings([quiet, plain, weak, worst, idle]) == (worst, idle, weak, plain, quiet)


def test_a_warning_that_only_names_another_package_is_said_once() -> None:
    same = [f"Run.sh of package {name} left processes behind in 3 trials." for name in ("a", "b", "c")]
    assert order_warnings(same, ("a", "b", "c")) == (
        "Run.sh of package a, b and c left processes behind in 3 trials.",
    )
    other = [same[0], same[1].replace("3 trials", "4 trials")]
    (said,) = order_warnings(other, ("a", "b", "c"))
    assert said.endswith("left processes behind in 3 trials (much the same for b).")


def test_two_warnings_of_one_package_stay_two() -> None:
    same = [
        "gzip: 3 of 5 trials had another level of cpu_frequency than -O1.",
        "gzip: 2 of 5 trials had another level of cpu_frequency than -O2.",
    ]
    assert order_warnings(same, ("gzip", "lz4")) == tuple(same)
    assert len(order_warnings([*same, same[0].replace("gzip", "lz4")], ("gzip", "lz4"))) == 3


def test_warnings_of_two_packages_or_of_other_things_stay_apart() -> None:
    kept = ("A and b share builds.", "The baseline a has no valid data; b stands in for it.", "a is skewed.")
    assert set(order_warnings(kept, ("a", "b"))) == set(kept)


def test_a_page_shows_three_warnings_and_folds_the_others() -> None:
    levels = {"package": ("a", "b"), "opt": ("-O0", "-O2")}
    experiment, design, table, trials = plan_study(levels, lambda rng, _: 10 + float(rng.standard_normal()))
    page = render_page(
        experiment, design, table, replace(trials, warnings=tuple(f"matter {n} is so" for n in "vwxyz"))
    )
    box = page[page.index('class="warnings"') :]
    box = box[: box.index("</section>")]
    first, _, folded = box.partition("<details>")
    assert first.count("<li>") == 3
    assert len(re.findall("Matter . is so", box)) == 5
    assert re.search(r"<summary>\d+ more</summary>", folded)


def test_the_first_screen_has_a_picture_of_the_answer() -> None:
    levels = {"package": ("a", "b"), "opt": ("-O0", "-O2")}
    study = plan_study(
        levels, lambda rng, point: (5 if point["package"] == "a" else 9) + float(rng.standard_normal())
    )
    page = render_page(*study)
    answer = page[page.index('class="answer"') : page.index("</section>")]
    assert 'data-name="change-package"' in answer
    assert "change from b" in answer
