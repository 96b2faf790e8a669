"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

from dataclasses import dataclass

import jinja2
import polars as pl

from datamill import __version__
from datamill.analysis.response import ResponseAnalysis, analyze_response
from datamill.design.records import Design
from datamill.experiment.records import Experiment, Response
from datamill.report.answer import finish_sentence, phrase_answer, phrase_pair, scale_response, write_answer
from datamill.report.figures import (
    BoxFigure,
    EffectFigure,
    LegendEntry,
    draw_effects,
    draw_response_boxes,
    is_relative,
    list_legend,
)
from datamill.report.numbers import format_count, name_confidence
from datamill.report.page_tables import (
    TableView,
    tabulate_anova,
    tabulate_exclusions,
    tabulate_factors,
    tabulate_level_means,
    tabulate_machines,
    tabulate_packages,
    tabulate_responses,
    tabulate_trials,
)
from datamill.report.records import Answer, TrialSummary


@dataclass(frozen=True, slots=True)
class ResponseView:
    """What the page shows of one response."""

    name: str
    sentence: str
    boxes: BoxFigure
    packages: TableView
    warnings: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the page shows of the response that answers the question."""

    boxes: BoxFigure
    packages: TableView
    legend: tuple[LegendEntry, ...]
    effects: tuple[EffectFigure, ...]
    relative: bool
    level_means: TableView | None
    anova: TableView | None
    anova_method: str
    checks: str


def render_page(experiment: Experiment, design: Design, table: pl.DataFrame, trials: TrialSummary) -> str:
    """Render the report as one self-contained HTML page without scripts.

    The first response answers the question, the others follow with a table and a box plot each.
    `table` is the tidy table; partial data are fine. Raises InputError when the experiment has no
    response or a factor's column is missing.
    """
    evidence: Evidence | None = None
    answer: Answer | None = None
    others: list[ResponseView] = []
    missing: list[str] = []
    for index, response in enumerate(experiment.responses):
        rows = table.filter((pl.col("response") == response.name) & pl.col("valid"))
        if rows.height == 0:
            missing.append(response.name)
            continue
        analysis = analyze_response(experiment, design, table, response)
        if index == 0:
            answer = phrase_answer(experiment, analysis, trials)
            evidence = _gather_evidence(analysis)
        else:
            others.append(_view_response(response, analysis))
    if answer is None:
        answer = write_answer(experiment, design, table, trials)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("datamill.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        experiment=experiment,
        design=design,
        trials=trials,
        answer=answer,
        evidence=evidence,
        others=others,
        missing=missing,
        confidence=name_confidence(experiment.confidence),
        planned=format_count(trials.planned),
        ended=format_count(trials.ended),
        trial_counts=tabulate_trials(trials),
        exclusions=tabulate_exclusions(table, [response.name for response in experiment.responses]),
        factors=tabulate_factors(design),
        machines=tabulate_machines(trials),
        responses=tabulate_responses(experiment),
        version=__version__,
    )


def _gather_evidence(analysis: ResponseAnalysis) -> Evidence:
    scale = scale_response(analysis)
    method = analysis.model.method if analysis.model is not None else ""
    if analysis.response.unit not in ("", "1"):
        method += f"; mean squares in ({analysis.response.unit})²"
    if analysis.influence is not None:
        method += f"; {analysis.influence.method}"
    checks = ""
    if analysis.checks is not None and analysis.checks.checks:
        checks = "; ".join(
            f"{check.assumption} by {check.method}, p = {check.p:.2g}" for check in analysis.checks.checks
        )
    return Evidence(
        boxes=draw_response_boxes(analysis, scale, faceted=True),
        packages=tabulate_packages(analysis, scale),
        legend=list_legend(analysis),
        effects=draw_effects(analysis, scale),
        relative=is_relative(analysis),
        level_means=tabulate_level_means(analysis, scale),
        anova=tabulate_anova(analysis, scale),
        anova_method=method,
        checks=checks,
    )


def _view_response(response: Response, analysis: ResponseAnalysis) -> ResponseView:
    scale = scale_response(analysis)
    sentence = ""
    if analysis.comparison is not None:
        sentence = " ".join(phrase_pair(pair, analysis, scale) for pair in analysis.comparison.pairs)
    goal = "higher" if response.direction == "higher" else "lower"
    note = f"{goal} is better; n = {format_count(analysis.observations.cells.n)}"
    return ResponseView(
        name=response.name,
        sentence=sentence,
        boxes=draw_response_boxes(analysis, scale, faceted=False),
        packages=tabulate_packages(analysis, scale),
        warnings=tuple(finish_sentence(warning) for warning in analysis.warnings),
        note=note,
    )
