"""A hypothesis in an experiment's file, and what the answer says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made.synthetic import make_bundle_folder, make_phase, make_record

from datamill.analysis.answer.claims.hypothesis import JudgedHypothesis, judge_hypothesis
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.report.hypothesis.words import phrase_judged
from datamill.results.bundles.bundle import Bundle
from datamill.verbs.answer import answer_records

TEXT = """
[experiment]
name = "synthetic"
replicates = 20
alpha = 0.05
hypothesis = "CLAIM"
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[[package]]
name = "c"
path = "c"
[responses.score]
unit = "s"
formula = "score"
direction = "lower"
[responses.rate]
unit = "1/s"
formula = "1 / score"
direction = "higher"
"""


def measure(folder: Path, claim: str, ratio: float, noise: float = 0.02):  # type: ignore[no-untyped-def]
    """A bundle and records in which package b takes `ratio` times as long as a."""
    bundle = make_bundle_folder(folder / "bundle", TEXT.replace("CLAIM", claim))
    rng = np.random.default_rng(4)
    means = {"a": 10.0, "b": 10.0 * ratio, "c": 30.0}
    records = [
        make_record(
            trial.trial_id,
            package=trial.package,
            run=make_phase(),
            factors=(),
            metrics={"score": (means[trial.package] * (1 + noise * rng.standard_normal()),)},
        )
        for trial in bundle.design.trials
    ]
    return bundle, records


def judge(bundle: Bundle, records: list) -> JudgedHypothesis:  # type: ignore[type-arg]
    found = judge_hypothesis(bundle.experiment, bundle.design, bundle.build_table(records))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("claim", "ratio", "verdict"),
    [
        ("b at least 10% lower than a", 0.80, "supported"),
        ("b at least 10% lower than a", 0.95, "refuted"),
        ("b at least 10% lower than a", 0.90, "undecided"),
        ("b lower than a", 0.95, "supported"),
        ("b at least 10% higher than a", 1.2, "supported"),
        ("b not worse than a by more than 5%", 1.0, "supported"),
        ("b not worse than a by more than 5%", 1.1, "refuted"),
        ("b not worse than a by more than 5% in rate", 1.1, "refuted"),
        ("b not worse than a by more than 5% in rate", 0.5, "supported"),
        ("b equivalent to a within 5%", 1.0, "supported"),
        ("b equivalent to a within 5%", 1.1, "refuted"),
        ("b equivalent to a within 5%", 0.9, "refuted"),
        ("b equivalent to a within 1%", 1.0, "undecided"),
    ],
)
def test_a_hypothesis_is_supported_or_refuted_on_its_own_side(
    tmp_path: Path, claim: str, ratio: float, verdict: str
) -> None:
    judged = judge(*measure(tmp_path, claim, ratio))
    assert judged.verdict == verdict
    assert judged.hypothesis.phrase().startswith(claim.removesuffix(" in rate"))
    if verdict == "supported":
        assert judged.p is not None
        assert judged.p < 0.05


def test_the_test_is_that_of_welch_by_hand(tmp_path: Path) -> None:
    bundle, records = measure(tmp_path, "b at least 10% lower than a", 0.88)
    judged = judge(bundle, records)
    values = {name: [r.metrics["score"][0] for r in records if r.package == name] for name in "ab"}
    a, b = 0.9 * np.array(values["a"]), np.array(values["b"])
    from scipy.stats import ttest_ind

    assert judged.p == pytest.approx(ttest_ind(b, a, equal_var=False, alternative="less").pvalue, rel=1e-9)
    assert judged.refuting == pytest.approx(1 - judged.p)
    assert judged.n == 40


def test_the_answer_begins_with_the_hypothesis_and_has_its_one_sided_bound(tmp_path: Path) -> None:
    bundle, records = measure(tmp_path, "b at least 10% lower than a", 0.8)
    answered = answer_records(bundle, records, bundle.build_table(records))
    headline = answered.answer.headline
    assert headline.startswith("The hypothesis is supported: b at least 10% lower than a in score. ")
    assert "95% one-sided bound" in headline
    assert "one-sided, alpha = 0.05, n = 40" in headline
    told = json.loads(answered.json())["hypothesis"]
    assert (told["verdict"], told["claim"], told["one_sided"], told["high"]) == (
        "supported",
        "lower",
        True,
        0.9,
    )
    assert told["ratio"]["high"] < 0.9
    assert "The hypothesis is supported" in answered.report()


def test_values_that_do_not_vary_and_values_that_are_missing_are_no_test(tmp_path: Path) -> None:
    bundle, records = measure(tmp_path, "b lower than a", 0.5, noise=0.0)
    same = judge(bundle, records)
    assert (same.verdict, same.p, same.holds) == ("as measured", None, True)
    assert "no test can be made" in phrase_judged(same)
    nothing = judge(bundle, [record for record in records if record.package != "b"])
    assert nothing.verdict == "no data"
    assert phrase_judged(nothing).startswith("The hypothesis cannot be judged yet")


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("b is better than a", "is not a hypothesis"),
        ("b lower than d", 'about "d", which is not a package'),
        ("b lower than b", "compares b with itself"),
        ("b lower than a in speed", 'about "speed", which is not a response'),
        ("b equivalent to a within 0%", "leaves nothing to be shown"),
        ("b at least 100% lower than a", "leaves nothing to be shown"),
    ],
)
def test_a_sentence_that_is_no_hypothesis_is_refused_with_those_that_are(claim: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        parse_experiment(TEXT.replace("CLAIM", claim), name="e.toml")
    assert "e.toml:6" in str(refused.value.where)


def test_until_stops_for_the_hypothesis_of_the_first_response_alone() -> None:
    grows = '[replication]\nuntil = "hypothesis"\nmax_trials = 900\n'
    text = TEXT.replace("replicates = 20\n", "")
    good = parse_experiment(text.replace("CLAIM", "b lower than a") + grows, name="e.toml")
    assert good.until is not None
    assert good.until.hypothesis == good.hypothesis
    more = grows.replace('"hypothesis"', '{ hypothesis = true, alpha = 0.01, grow = "50%" }')
    assert parse_experiment(text.replace("CLAIM", "b lower than a") + more, name="e").until == replace(
        good.until, alpha=0.01, grow=0.5
    )
    for claim, rule in (("b lower than a in rate", grows), ("", grows)):
        broken = text.replace("CLAIM", claim) if claim else text.replace('hypothesis = "CLAIM"\n', "")
        with pytest.raises(InputError, match="none about its first response"):
            parse_experiment(broken + rule, name="e.toml")
