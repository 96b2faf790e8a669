"""What a page says of trials that may have been disturbed."""

import html
from dataclasses import replace

import polars as pl
from made.answered_study import render_page
from made.page_study import make_study

from datamill.analysis.answer.doubtful_trials import leave_out_doubtful
from datamill.analysis.answer.response import analyze_response
from datamill.design.design import Design, DesignFactor
from datamill.experiment.experiment import Experiment
from datamill.report.experiment.doubtful import phrase_doubts


def read_doubts(experiment: Experiment, design: Design, table: pl.DataFrame) -> str:
    response = experiment.responses[0]
    found = leave_out_doubtful(experiment, design, table, response)
    return phrase_doubts(found, design, analyze_response(experiment, design, table, response))


def test_a_conclusion_that_holds_without_doubtful_trials_is_said_to_hold() -> None:
    experiment, design, table, summary = make_study(disturbed=1.02)
    page = html.unescape(render_page(experiment, design, table, summary))
    assert "may have been disturbed; without them the conclusion is the same" in page
    assert "steal" in page
    assert "--repeat-doubtful" in page


def test_a_conclusion_that_depends_on_doubtful_trials_is_said_to() -> None:
    experiment, design, table, summary = make_study(ratio=1.0, disturbed=3.0, replicates=6)
    page = html.unescape(render_page(experiment, design, table, summary))
    assert "the conclusion depends on them: without them, " in page


def test_where_nearly_all_trials_are_doubtful_one_sentence_says_what_to_do() -> None:
    experiment, design, table, _ = make_study(disturbed=1.02, replicates=6)
    first = table["trial_id"].unique().sort().head(2).implode()
    disturbed = table.with_columns(
        doubt=pl.when(pl.col("trial_id").is_in(first)).then(None).otherwise(pl.lit("steal"))
    )
    words = read_doubts(experiment, design, disturbed)
    assert words.startswith("69 of 71 trials may have been disturbed: this host was not quiet.")
    assert "without them" not in words
    machine = DesignFactor("machine", ("lab-1",), 1, build=True, role="nuisance")
    fleet = replace(design, factors=(*design.factors, machine))
    words = read_doubts(experiment, fleet, disturbed)
    assert "submit the experiment again" in words
    assert "--resume" not in words


def test_a_doubtful_attempt_that_was_repeated_is_not_listed_among_what_stays_in_the_figures() -> None:
    experiment, design, table, summary = make_study(disturbed=1.02)
    repeated = table.with_columns(valid=pl.col("valid") & pl.col("doubt").is_null())
    page = render_page(experiment, design, repeated, summary)
    assert "No rule was broken." in page
    assert "--repeat-doubtful" not in page


def test_a_study_without_doubtful_trials_says_that_no_rule_was_broken() -> None:
    page = render_page(*make_study())
    assert "No rule was broken." in page
    assert "may have been disturbed;" not in page


def test_what_a_fleet_measured_is_submitted_again_and_not_resumed() -> None:
    experiment, design, table, summary = make_study(disturbed=1.02)
    here = html.unescape(render_page(experiment, design, table, summary))
    assert "datamill submit" not in here
    machine = DesignFactor("machine", ("lab-1",), 1, build=True, role="nuisance")
    fleet = replace(design, factors=(*design.factors, machine))
    page = html.unescape(render_page(experiment, fleet, table, summary))
    assert "datamill submit ." in page
    assert "--resume" not in page
