"""A screening in words: survivors, what cannot be excluded, what is aliased, and what to do next."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datamill.analysis.answer.screening import Screening, screen_factors
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.conduct.question.screening.follow_up import ScreenedFactor
from datamill.design.points.plackett_burman import build_folded_plackett_burman
from datamill.experiment.factors.catalogue import FACTORS
from datamill.report.figures.figure import render_svg
from datamill.report.screening.figure import draw_screening
from datamill.report.screening.section import phrase_decision, phrase_screening
from datamill.report.words.scales import Scale

SIGNS = build_folded_plackett_burman(6)
SECONDS = Scale(1.0, "s")
DOCUMENT = Path(__file__).parents[4] / "docs" / "reference" / "experiment-file.md"


def screen(effect: float, noise: float, *, packages: int = 1) -> Screening:
    """Six factors of which the second has an effect, in seconds about a mean of 10 s."""
    rng = np.random.default_rng(11)
    rows = np.repeat(SIGNS, 3, axis=0)
    factors = [ModelFactor(f"f{at}", ("low", "high")) for at in range(6)]
    codes = [np.column_stack([rows > 0, np.full(len(rows), at)]) for at in range(packages)]
    if packages > 1:
        factors.append(ModelFactor("package", ("old", "new")))
    matrix = np.concatenate(codes).astype(np.int64)[:, : len(factors)]
    values = 10 + effect / 2 * np.tile(rows[:, 1], packages) + noise * rng.standard_normal(len(matrix))
    return screen_factors(
        gather_cells(factors, matrix, values),
        [f"f{at}" for at in range(6)],
        package_factor=6 if packages > 1 else None,
        package="old",
    )


def test_a_survivor_is_named_with_its_size_interval_and_levels() -> None:
    headline, quiet = phrase_screening(screen(1.0, 0.05), "time", SECONDS)
    assert headline.startswith("1 of 6 factors moves time: f1 by +")
    assert "95% interval" in headline
    assert headline.endswith(" of the mean from low to high.")
    assert quiet.startswith("Not detected, and 1% at the most (95% intervals): ")


def test_what_cannot_be_excluded_is_said_with_its_bound() -> None:
    lines = phrase_screening(screen(0.0, 1.0), "time", SECONDS)
    assert lines[0] == "None of 6 factors was shown to move time."
    assert "they may move it by more than 1%" in lines[1]
    assert "at most" in lines[1]


def test_with_several_packages_the_effect_is_told_of_one() -> None:
    headline = phrase_screening(screen(1.0, 0.05, packages=2), "time", SECONDS)[0]
    assert " for old" in headline or " for new" in headline


def test_each_decision_says_what_is_done_and_why() -> None:
    screening = screen(1.0, 0.05)
    varied = ScreenedFactor("f1", ("low", "high"), True, phrase_decision("f1", screening)).phrase()
    assert varied.startswith("f1: varied over low, high (detected: +")
    held = ScreenedFactor("f0", ("low", "high"), False, phrase_decision("f0", screening)).phrase()
    assert held.startswith("f0: fixed at low (not detected, at most ")


def test_the_figure_has_every_factor_and_tells_packages_apart() -> None:
    drawn = render_svg(draw_screening(screen(1.0, 0.05, packages=2), "time", SECONDS))
    for name in ("f0", "f5", "old", "new"):
        assert name in drawn


def test_the_document_lists_the_factors_that_are_screened() -> None:
    text = DOCUMENT.read_text().split("### Screening")[1].split("What `[nuisance]` fixes")[0]
    for factor in FACTORS.values():
        assert not factor.screening or f"`{factor.name}`" in text
