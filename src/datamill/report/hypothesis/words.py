"""Whether an experiment's hypothesis holds, in a sentence with its bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from datamill.analysis.answer.claims.hypothesis import JudgedHypothesis
from datamill.experiment.hypothesis import Hypothesis
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_given,
    format_level,
    format_p,
)
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.words.answer import Answer
from datamill.results.bundles.decisions import Decision, LookInterval


def answer_by_hypothesis(answer: Answer, judged: JudgedHypothesis, last: Decision | None) -> Answer:
    """Return the answer of an experiment with a hypothesis: what becomes of that comes first.

    `last` is the latest decision where the experiment stops for the hypothesis, whose interval holds at all
    looks together and then takes the place of the test at a fixed number of trials.
    """
    if last is not None:
        sentence, method = phrase_stopped(judged.hypothesis, last), "sequential interval, each side by itself"
    else:
        sentence, method = phrase_judged(judged), judged.method
    details = (answer.headline, *answer.details) if last is None else answer.details
    warnings = tuple(
        finish_sentence(warning)
        for warning in judged.warnings
        if not any(told.startswith(warning.rstrip(".")) for told in answer.warnings)
    )
    return replace(
        answer,
        headline=sentence,
        details=details,
        warnings=(*warnings, *answer.warnings) if last is None else answer.warnings,
        method=f"hypothesis: {method}; {answer.method}",
    )


def phrase_judged(judged: JudgedHypothesis) -> str:
    """Say whether a hypothesis holds, by how much, and how sure that is."""
    claim = judged.hypothesis.phrase()
    if judged.verdict == "no data" or judged.ratio is None:
        return f"The hypothesis cannot be judged yet ({claim}): {'; '.join(judged.warnings) or 'no data'}."
    seen = _phrase_ratio(judged)
    if judged.verdict == "as measured":
        holds = "holds" if judged.holds else "does not hold"
        return (
            f"As measured the hypothesis {holds} ({claim}): {seen}; like trials did not differ, so that "
            "no test can be made."
        )
    alpha, n = format_given(judged.alpha), format_count(judged.n)
    p = f"p = {format_p(judged.p)}, one-sided, alpha = {alpha}, n = {n}"
    if judged.verdict == "supported":
        return f"The hypothesis is supported: {claim}. {seen} ({p})."
    if judged.verdict == "refuted":
        against = f"p = {format_p(judged.refuting)}, one-sided, alpha = {alpha}, n = {n}"
        return f"The hypothesis is refuted ({claim}). {seen} (of the contrary: {against})."
    return f"The data neither support nor refute the hypothesis ({claim}). {seen} ({p})."


def phrase_stopped(hypothesis: Hypothesis, last: Decision) -> str:
    """Say what the looks of an experiment that stops for its hypothesis came to."""
    claim = hypothesis.phrase()
    if not last.intervals:
        return f"The hypothesis cannot be judged yet ({claim}): too few rounds are complete."
    wide, narrow = last.intervals
    if last.cause == "supported":
        return f"The hypothesis is supported: {claim}. {_phrase_interval(hypothesis, wide)}."
    if last.cause == "refuted":
        return f"The hypothesis is refuted ({claim}). {_phrase_interval(hypothesis, narrow)}."
    went_on = "ended at its bound" if last.decision == "stop" else "goes on"
    return (
        f"The hypothesis is neither supported nor refuted yet ({claim}), and the experiment {went_on}. "
        f"{_phrase_interval(hypothesis, wide)}."
    )


def spell_hypothesis(judged: JudgedHypothesis | None, last: Decision | None) -> dict[str, Any] | None:
    """Return what became of a hypothesis as JSON: ratios are of the package's mean over the baseline's."""
    if judged is None:
        return None
    hypothesis, ratio = judged.hypothesis, judged.ratio
    return {
        "text": hypothesis.phrase(),
        "package": hypothesis.package,
        "baseline": hypothesis.baseline,
        "response": hypothesis.response,
        "claim": hypothesis.claim,
        "low": hypothesis.low,
        "high": hypothesis.high,
        "verdict": _decide(judged, last),
        "one_sided": not hypothesis.two_sided,
        "alpha": judged.alpha,
        "ratio": None
        if ratio is None
        else {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high},
        "bound_confidence": 1 - judged.alpha,
        "p": judged.p,
        "p_contrary": judged.refuting,
        "n": judged.n,
        "method": judged.method,
        "warnings": list(judged.warnings),
    }


def _decide(judged: JudgedHypothesis, last: Decision | None) -> str:
    """The verdict: of the looks where the experiment stops for it."""
    if last is None:
        return judged.verdict
    return last.cause if last.cause in ("supported", "refuted") else "undecided"


def _phrase_ratio(judged: JudgedHypothesis) -> str:
    """The departure with the bound that counts, or both."""
    hypothesis, ratio = judged.hypothesis, judged.ratio
    assert ratio is not None
    level = f"{format_level(1 - judged.alpha)} one-sided"
    bounds = []
    if hypothesis.low is not None and ratio.low is not None:
        bounds.append(f"at least {_depart(ratio.low - 1)}")
    if hypothesis.high is not None and ratio.high is not None:
        bounds.append(f"at most {_depart(ratio.high - 1)}")
    shown = f", {' and '.join(bounds)} ({level} bound{'s' if len(bounds) > 1 else ''})" if bounds else ""
    return _say_departs(hypothesis, ratio.estimate - 1) + shown


def _phrase_interval(hypothesis: Hypothesis, interval: LookInterval) -> str:
    if interval.estimate is None:
        return (
            f"The {hypothesis.response} of {hypothesis.baseline} is zero, so that no difference is a share "
            "of it"
        )
    text = _say_departs(hypothesis, interval.estimate)
    # A two-sided interval at 1 - 2a, of which each side misses with probability a.
    level = f"{format_figures(100 * (1 + interval.confidence) / 2, 4)}% one-sided sequential"
    bounds = []
    if hypothesis.low is not None and interval.low is not None:
        bounds.append(f"at least {_depart(interval.low)}")
    if hypothesis.high is not None and interval.high is not None:
        bounds.append(f"at most {_depart(interval.high)}")
    if not bounds:
        return f"{text}, without a bound yet, n = {interval.rounds} rounds"
    level += " bounds" if len(bounds) > 1 else " bound"
    return f"{text}, {' and '.join(bounds)} ({level}, n = {interval.rounds} rounds)"


def _say_departs(hypothesis: Hypothesis, departure: float) -> str:
    return (
        f"The {hypothesis.response} of {hypothesis.package} differs from {hypothesis.baseline}'s by "
        f"{_depart(departure)}"
    )


def _depart(share: float) -> str:
    return f"{format_figures(100 * share, 3, signed=True)}%"
