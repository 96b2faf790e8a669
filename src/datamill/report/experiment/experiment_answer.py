"""What an experiment says, in plain words."""

from __future__ import annotations

from dataclasses import replace

from datamill.analysis.answer.experiment_analysis import ExperimentAnalysis
from datamill.analysis.levels.comparison import PairComparison
from datamill.design.nuisance import list_drawn_factors
from datamill.experiment.experiment import Experiment, Response
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.changes.gaps import is_unit_of_time, take_ratio
from datamill.report.drift.section import warn_of_drift
from datamill.report.experiment.answer import count_trials, phrase_answer
from datamill.report.experiment.by_machine import list_opposed, qualify_by_machines
from datamill.report.experiment.doubtful import phrase_doubts
from datamill.report.hypothesis.words import answer_by_hypothesis
from datamill.report.screening.first_part import phrase_screened_first
from datamill.report.screening.section import answer_by_screening, warn_of_aliases, word_screening
from datamill.report.stopping.section import find_look_at_hypothesis
from datamill.report.words.answer import Answer
from datamill.report.words.scales import round_interval
from datamill.report.words.warning_order import order_warnings
from datamill.results.bundles.trial_summary import TrialSummary

_SHORT_HYPOTHESES = {
    "supported": "hypothesis supported",
    "refuted": "hypothesis refuted",
    "undecided": "hypothesis undecided",
}


def phrase_experiment(found: ExperimentAnalysis, trials: TrialSummary) -> Answer:
    """Put what an experiment says into words: those of the page, the terminal, JSON and Python."""
    experiment, first = found.experiment, found.answering
    if first is None:
        return _say_nothing(experiment, trials)
    analysis = first.analysis
    answer = phrase_answer(
        experiment,
        analysis,
        trials,
        doubts=phrase_doubts(first.doubtful, found.design, analysis),
        drift=warn_of_drift(experiment, first.drift, analysis),
        drawn=list_drawn_factors(found.design.factors),
    )
    if found.hypothesis is not None:
        answer = answer_by_hypothesis(answer, found.hypothesis, find_look_at_hypothesis(experiment, trials))
    if trials.screened is not None:
        answer = replace(answer, details=(*answer.details, *phrase_screened_first(trials.screened)))
    if first.machines is not None:
        answer = qualify_by_machines(answer, first.machines, relative=first.levels is not None)
    if first.screening is not None:
        return answer_by_screening(
            answer, word_screening(found.design, analysis, first.screening, first.aliases)
        )
    if aliased := warn_of_aliases(found.design):
        warnings = (*answer.warnings, finish_sentence(aliased))
        return replace(answer, warnings=order_warnings(warnings))
    return answer


def _say_nothing(experiment: Experiment, trials: TrialSummary) -> Answer:
    """The answer while the response that was asked about has no valid observation."""
    return Answer(
        question=experiment.question,
        headline=f"There is no answer yet: no trial gave a valid {experiment.responses[0].name}.",
        details=(f"{count_trials(trials)} have ended.",),
        mattered=(),
        warnings=tuple(finish_sentence(warning) for warning in trials.warnings),
        n=0,
        confidence=experiment.confidence,
        method="none",
    )


def shorten_answer(found: ExperimentAnalysis) -> str:
    """Say in a few words which package is better, a number with its interval, or whether a hypothesis holds.

    Empty where that takes a sentence: without a comparison of packages, of a screening, where like trials did
    not differ, and of an experiment that stops by itself, whose intervals are those of its looks.
    """
    first = found.answering
    if first is None or found.experiment.until is not None:
        return ""
    if found.hypothesis is not None:
        return _SHORT_HYPOTHESES.get(found.hypothesis.verdict, "")
    comparison = first.analysis.comparison
    if comparison is None or first.screening is not None:
        return ""
    pairs = comparison.best or comparison.pairs[:1]
    if any(pair.p is None for pair in pairs):
        return ""
    if first.machines is not None and list_opposed(first.machines):
        return "which is better depends on the machine"
    if unclear := [pair for pair in pairs if pair.verdict == "uncertain"]:
        names = " and ".join([unclear[0].package, *(pair.baseline for pair in unclear)])
        return f"{names} not told apart"
    said = _shorten_pair(pairs[0], found.experiment.responses[0])
    return said if first.machines is None else f"{said}, average of {len(first.machines.machines)} machines"


def _shorten_pair(pair: PairComparison, response: Response) -> str:
    packages = (pair.package, pair.baseline)
    winner, other = packages if pair.verdict == "better" else packages[::-1]
    ratio = take_ratio(pair, winner)
    if ratio is None:
        return f"{winner} better than {other}"
    if response.direction == "lower" and is_unit_of_time(response.unit):
        # Also where the values of each machine were taken relative to it: their ratio is one of times.
        shown = round_interval(ratio.inverted())
        return f"{winner} {shown.estimate} times as fast as {other} ({shown.ends})"
    shown = round_interval(ratio)
    return f"{winner} {shown.estimate} times {other}'s {response.name} ({shown.ends})"
