"""What a study says, as the commands that people use say it: analysed once, then put into words or a page."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from datamill.analysis.answer.experiment_analysis import analyze_experiment
from datamill.design.design import Design
from datamill.experiment.experiment import Experiment
from datamill.report.experiment.experiment_answer import phrase_experiment
from datamill.report.experiment.experiment_page import render_report
from datamill.report.words.answer import Answer
from datamill.results.bundles.trial_summary import TrialSummary


@dataclass(frozen=True)
class ReportPage:
    """The page of a study, and the answer that it begins with."""

    html: str
    answer: Answer


def write_report(
    experiment: Experiment, design: Design, table: pl.DataFrame, trials: TrialSummary
) -> ReportPage:
    """The page of a study, and the answer that it begins with."""
    found = analyze_experiment(experiment, design, table)
    answer = phrase_experiment(found, trials)
    return ReportPage(render_report(found, answer, trials), answer)


def render_page(experiment: Experiment, design: Design, table: pl.DataFrame, trials: TrialSummary) -> str:
    """The page of a study as HTML."""
    return write_report(experiment, design, table, trials).html


def write_answer(experiment: Experiment, design: Design, table: pl.DataFrame, trials: TrialSummary) -> Answer:
    """The answer of a study in words, without its page."""
    return phrase_experiment(analyze_experiment(experiment, design, table), trials)
