"""`answer`: what an experiment says, from its bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from datamill.analysis.answer.experiment_analysis import ExperimentAnalysis, analyze_experiment
from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord
from datamill.report.experiment.answer import draw_answer, scale_response
from datamill.report.experiment.experiment_answer import phrase_experiment
from datamill.report.experiment.experiment_page import render_report
from datamill.report.experiment.json import format_experiment_json
from datamill.report.figures.figure import Figure
from datamill.report.stopping.section import draw_looks
from datamill.report.words.answer import Answer
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.bundles.trial_summary import TrialSummary, summarize_trials


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentAnswer:
    """What an experiment says: `answer` in sentences, `analysis` as records; `trials` is how they went.

    `print` shows the sentences, as `datamill report` does.
    """

    analysis: ExperimentAnalysis
    answer: Answer
    trials: TrialSummary

    def json(self) -> str:
        """All figures with every digit; what `datamill report --json` prints, naming Python's arguments."""
        return format_experiment_json(self.analysis, self.answer, self.trials)

    def report(self) -> str:
        """The report as one HTML page that needs nothing but itself."""
        return render_report(self.analysis, self.answer, self.trials)

    def figure(self) -> Figure | None:
        """The picture of what the first sentence says: observations, means and changes with their intervals.

        While a sequential experiment goes on it is what all looks at it saw. None where nothing is compared.
        """
        first, experiment, looks = self.analysis.answering, self.analysis.experiment, self.trials.decisions
        if first is None:
            return None
        if experiment.until is not None and looks and looks[-1].decision != "stop":
            return draw_looks(experiment.until, looks)
        return draw_answer(first.analysis, scale_response(first.analysis))

    def __str__(self) -> str:
        """The question, the answer, what else mattered, and warnings."""
        return "\n".join(self.answer.lines())


def answer(bundle: str | Path) -> ExperimentAnswer:
    """Answer the question of an experiment from its bundle, finished or not; nothing is written.

    Raises:
        InputError: there is no bundle at this path, or it is damaged; says where and what to do.
    """
    if not isinstance(bundle, (str, Path)):
        raise InputError(
            f"{type(bundle).__name__} is not the path of a bundle",
            remedy="Name the folder that datamill run made.",
        )
    opened = open_bundle(Path(bundle))
    records = opened.read_records()
    return answer_records(opened, records, opened.build_table(records))


def answer_records(bundle: Bundle, records: Sequence[TrialRecord], table: pl.DataFrame) -> ExperimentAnswer:
    """Answer the question of a bundle from its records and the tidy table that was made of them."""
    trials = summarize_trials(bundle, records, table)
    analysis = analyze_experiment(bundle.experiment, bundle.design, table)
    return ExperimentAnswer(analysis, phrase_experiment(analysis, trials), trials)
