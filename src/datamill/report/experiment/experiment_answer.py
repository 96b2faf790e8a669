"""What an experiment says, in plain words."""

from __future__ import annotations

from dataclasses import replace

from datamill.analysis.answer.experiment_analysis import ExperimentAnalysis
from datamill.design.nuisance import list_drawn_factors
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.drift.section import warn_of_drift
from datamill.report.experiment.answer import count_trials, phrase_answer
from datamill.report.experiment.by_machine import qualify_by_machines
from datamill.report.experiment.doubtful import phrase_doubts
from datamill.report.hypothesis.words import answer_by_hypothesis
from datamill.report.screening.first_part import phrase_screened_first
from datamill.report.screening.section import answer_by_screening, warn_of_aliases, word_screening
from datamill.report.stopping.section import find_look_at_hypothesis
from datamill.report.words.answer import Answer
from datamill.report.words.warning_order import order_warnings
from datamill.results.bundles.trial_summary import TrialSummary


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
