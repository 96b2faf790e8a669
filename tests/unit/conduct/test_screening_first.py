"""`screen = "auto"`: the screening before an experiment, and what the experiment becomes by it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from datamill.conduct.question.screening import main_question
from datamill.conduct.question.screening.follow_up import DecidedFactors, ScreenedFactor
from datamill.conduct.question.screening.main_question import write_main_question
from datamill.conduct.question.screening.screening_first import write_screening
from datamill.design.trials import build_design
from datamill.experiment.errors import InputError
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.parse import parse_experiment
from datamill.report.screening.first_part import phrase_screened_first, view_screened_first
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.bundle_head import BundleHead
from datamill.results.judgement.screened import ScreenedLevels, encode_screened, read_screened

TEXT = """
[experiment]
name = "sorts"
question = "Which sorts faster?"
screen = "auto"
seed = 3
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
optimization = ["-O0", "-O2", "-O3"]
cpu_set = "100%"
[nuisance]
policy = "fix"
locale = { fix = "C" }
[replication]
executions = 20
until = { detect = "5%" }
max_trials = 5000
"""

LEVELS = ScreenedLevels("ksm", ("off", "on"), survives=False, becomes="fixed", reason="not detected")


def make_bundle() -> Bundle:
    experiment = parse_experiment(write_screening(TEXT, name="e.toml"), name="e.toml")
    return Bundle(
        Path("sorts-screening"), BundleHead(2, "1", 0, "e.toml", ()), experiment, build_design(experiment)
    )


def decide(*factors: ScreenedFactor, widest: float | None = 0.8) -> DecidedFactors:
    return DecidedFactors(factors, ("few of them",), "least squares", widest)


def test_the_screening_varies_all_cheap_hidden_factors_and_holds_those_of_the_question() -> None:
    experiment = parse_experiment(write_screening(TEXT, name="e.toml"), name="e.toml")
    assert experiment.name == "sorts-screening"
    assert experiment.screen == "never"
    assert experiment.until is None
    assert experiment.replicates == 2
    design = build_design(experiment)
    varied = {factor.name for factor in design.crossed if len(factor.levels) > 1} - {"package"}
    assert varied == {item.name for item in FACTORS.values() if item.screening} - {"locale"}
    held = {factor.name: factor.levels for factor in design.factors if len(factor.levels) == 1}
    assert held["optimization"] == ("-O0",)
    assert held["locale"] == ("C",)
    assert "cpu_set" not in {factor.name for factor in design.factors}


def test_survivors_are_crossed_as_hidden_factors_and_the_others_are_as_the_policy_says_or_fixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        main_question,
        "decide_factors",
        lambda _bundle: decide(
            ScreenedFactor("env_padding", ("0", "10928"), survives=True, reason="detected: +3%"),
            ScreenedFactor("aslr", ("on", "off"), survives=False, reason="not detected, at most 0.5%"),
            ScreenedFactor("ksm", ("off", "on"), survives=False, reason="not detected, at most 0.8%"),
        ),
    )
    text, screened, lines = write_main_question(make_bundle(), TEXT, name="e.toml")
    experiment = parse_experiment(text, name="e.toml")
    assert experiment.screen == "never"
    assert experiment.until is not None
    assert [choice.name for choice in experiment.factors] == ["optimization", "cpu_set"]
    hidden = {choice.name: choice for choice in experiment.nuisance}
    assert (hidden["env_padding"].treatment, hidden["env_padding"].levels) == ("vary", ("0", "10928"))
    # The policy fixes it anyway.
    assert hidden["aslr"].by_policy
    assert hidden["ksm"].treatment == "fix"
    assert screened.survivors == ("env_padding",)
    assert [item.becomes for item in screened.factors] == ["varied", "fix", "fixed"]
    assert any("aslr: as [nuisance] policy says" in line for line in lines)
    said, smallest = phrase_screened_first(screened)
    assert "1 moves wall_time and varies here: env_padding (detected: +3%)" in said
    assert "0.8% of the mean at most" in smallest
    missed = " ".join(view_screened_first(screened).missed)
    for expected in ("It held optimization, cpu_set at the first level", "swap", "two levels", "link_order"):
        assert expected in missed


def test_what_the_screening_found_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_question, "decide_factors", lambda _bundle: decide(widest=None))
    _, screened, _ = write_main_question(make_bundle(), TEXT, name="e.toml", told="experiment 4")
    assert read_screened(tmp_path) is None
    (tmp_path / "screening.json").write_bytes(encode_screened(screened))
    assert read_screened(tmp_path) == screened
    assert (
        "It is not known how large"
        in phrase_screened_first(msgspec.structs.replace(screened, factors=(LEVELS,)))[1]
    )
    (tmp_path / "screening.json").write_text("{")
    with pytest.raises(InputError, match="not what datamill wrote of a screening"):
        read_screened(tmp_path)


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ('screen = "auto"\ndesign = "screening"', "this is one by itself"),
        ('screen = "always"', "screen"),
    ],
)
def test_a_screen_that_cannot_be_is_refused(given: str, refused: str) -> None:
    with pytest.raises(InputError, match=refused):
        parse_experiment(TEXT.replace('screen = "auto"', given), name="e.toml")
