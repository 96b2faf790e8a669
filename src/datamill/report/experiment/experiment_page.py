"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import polars as pl

from datamill.analysis.answer.experiment_analysis import AnsweringResponse, ExperimentAnalysis, ResponseAnswer
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.nuisance import list_unsettled_factors
from datamill.design.order import phrase_order
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import format_count, format_level
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.anova.diagnosis import Diagnosis, diagnose_model
from datamill.report.changes.by_factor import word_response
from datamill.report.changes.table import tabulate_changes
from datamill.report.drift.section import DriftView, view_drift
from datamill.report.experiment.answer import draw_answer, phrase_pair, scale_response
from datamill.report.experiment.by_machine import MachinesView, view_machines
from datamill.report.experiment.doubtful import tabulate_doubts
from datamill.report.experiment.figures import (
    LegendEntry,
    draw_distributions,
    draw_effects,
    draw_leftovers,
    draw_response_boxes,
    is_relative,
    list_legend,
)
from datamill.report.experiment.tables import (
    list_put_aside,
    tabulate_anova,
    tabulate_exclusions,
    tabulate_factors,
    tabulate_machines,
    tabulate_nuisances,
    tabulate_packages,
    tabulate_responses,
    tabulate_terms,
    tabulate_trials,
)
from datamill.report.experiment.uncertainty import (
    UncertaintyView,
    counts_builds,
    describe_replicates,
    view_uncertainty,
)
from datamill.report.figures.figure import Figure
from datamill.report.figures.views import FigureView, start_view
from datamill.report.machines.factors import name_machines
from datamill.report.page.frame import fill_template
from datamill.report.quantiles.evidence import QuantileEvidence, view_quantiles
from datamill.report.screening.first_part import view_screened_first
from datamill.report.screening.section import ScreeningView, view_screening
from datamill.report.stopping.section import view_stopping
from datamill.report.tables.table import Table
from datamill.report.words.answer import Answer
from datamill.report.words.glossary import list_report_words
from datamill.report.words.scales import Scale
from datamill.results.bundles.trial_summary import TrialSummary
from datamill.results.judgement.doubts import RULES


@dataclass(frozen=True, slots=True)
class _OtherResponse:
    """What the page shows of a response that does not answer the question."""

    name: str
    sentence: str
    boxes: Future[FigureView]
    packages: Table
    warnings: tuple[str, ...]
    note: str
    machines: MachinesView | None


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the page shows of the response that answers the question."""

    response: str
    boxes: Future[FigureView]
    change: Future[FigureView] | None
    distributions: Future[FigureView]
    packages: Table
    legend: tuple[LegendEntry, ...]
    effects: tuple[Future[FigureView], ...]
    relative: bool
    level_means: Table | None
    terms: Table | None
    anova: Table | None
    anova_method: str
    diagnosis: Diagnosis | None
    pictures: tuple[Future[FigureView], ...]
    quantiles: QuantileEvidence | None
    quantile_view: Future[FigureView] | None
    builds_counted: bool


def render_report(found: ExperimentAnalysis, answer: Answer, trials: TrialSummary) -> str:
    """Render what an experiment says as one self-contained HTML page.

    The page begins with `answer`, which is of the first response; the others follow with a table and a box
    plot each.
    """
    experiment, design, table, first = found.experiment, found.design, found.table, found.answering
    evidence: _Evidence | None = None
    drift: DriftView | None = None
    screening: ScreeningView | None = None
    uncertainty: UncertaintyView | None = None
    if first is not None:
        evidence = _gather_evidence(experiment, first)
        drift = view_drift(experiment, first.drift, first.analysis)
        uncertainty = view_uncertainty(experiment, first.repetition, scale_response(first.analysis))
        if first.screening is not None:
            screening = view_screening(design, first.analysis, first.screening, first.aliases)
    others = [_view_response(answer) for answer in found.others]
    return fill_template(
        "page.html",
        interactive=evidence is not None or bool(others),
        words=list_report_words(),
        experiment=experiment,
        design=design,
        trials=trials,
        answer=answer,
        evidence=evidence,
        by_machine=None if first is None else _view_machines(first),
        drift=drift,
        screening=screening,
        uncertainty=uncertainty,
        replicates=describe_replicates(experiment, design),
        builds_counted=evidence is not None and evidence.builds_counted,
        stopping=view_stopping(experiment, trials),
        screened_first=None if trials.screened is None else view_screened_first(trials.screened),
        others=others,
        missing=found.missing,
        confidence=format_level(experiment.confidence),
        planned=format_count(trials.planned),
        order=phrase_order(experiment),
        references=_count_purpose("reference", design, table, trials),
        calibrations=_count_purpose("calibration", design, table, trials),
        ended=format_count(trials.ended),
        trial_counts=tabulate_trials(trials),
        exclusions=tabulate_exclusions(found.exclusions),
        put_aside=list_put_aside(found.put_aside),
        doubts=tabulate_doubts(found.broken_rules),
        doubt_rules=tuple((rule.name, rule.statement) for rule in RULES),
        factors=tabulate_factors(design),
        nuisances=tabulate_nuisances(design),
        unsettled=list_unsettled_factors(design.factors),
        machines=tabulate_machines(trials),
        of_fleet=any(factor.name == MACHINE_FACTOR for factor in design.factors),
        responses=tabulate_responses(experiment),
    )


def _view_machines(answer: ResponseAnswer) -> MachinesView | None:
    return None if answer.machines is None else view_machines(answer.machines, answer.given, answer.levels)


def _count_purpose(purpose: str, design: Design, table: pl.DataFrame, trials: TrialSummary) -> int:
    """Count the trials of a purpose: those planned, or where not all were needed those that ran."""
    if trials.not_needed:
        return table.filter(pl.col("purpose") == purpose)["trial_id"].n_unique()
    return sum(trial.purpose == purpose for trial in design.trials)


def _gather_evidence(experiment: Experiment, answering: AnsweringResponse) -> _Evidence:
    analysis = answering.analysis
    scale = scale_response(analysis)
    model = analysis.model if analysis.blocked is None else analysis.blocked.model
    method = model.method if model is not None else ""
    if analysis.influence is not None:
        method += f"; {analysis.influence.method}"
    picture = draw_answer(analysis, scale)
    labels = {} if answering.machines is None else name_machines(answering.machines.labels)
    boxes = start_view(draw_response_boxes(analysis, scale, faceted=True, labels=labels))
    distributions = start_view(draw_distributions(analysis))
    effects = _start_views(draw_effects(analysis, scale))
    pictures = _start_views(draw_leftovers(analysis, scale, answering.diagnostics))
    diagnosis = diagnose_model(analysis.checks)
    quantiles = view_quantiles(answering.quantiles, analysis)
    return _Evidence(
        response=analysis.response.name,
        boxes=boxes,
        change=None if picture is None else start_view(picture),
        distributions=distributions,
        packages=tabulate_packages(analysis, scale),
        legend=list_legend(analysis),
        effects=effects,
        relative=is_relative(analysis),
        level_means=_tabulate_levels(analysis, scale),
        terms=tabulate_terms(analysis, scale),
        anova=tabulate_anova(analysis, scale),
        anova_method=method,
        diagnosis=diagnosis,
        pictures=pictures,
        quantiles=quantiles,
        quantile_view=None if quantiles is None else start_view(quantiles.figure),
        builds_counted=counts_builds(experiment, analysis),
    )


def _tabulate_levels(analysis: ResponseAnalysis, scale: Scale) -> Table | None:
    """Means by level with the changes between them, packages first."""
    of_packages = () if analysis.package_change is None else (analysis.package_change,)
    means = (*analysis.package_means, *analysis.level_means)
    if not means:
        return None
    return tabulate_changes(means, (*of_packages, *analysis.changes), word_response(analysis, scale))


def _start_views(figures: Sequence[Figure]) -> tuple[Future[FigureView], ...]:
    return tuple(start_view(figure) for figure in figures)


def _view_response(answer: ResponseAnswer) -> _OtherResponse:
    analysis, machines = answer.analysis, _view_machines(answer)
    response = analysis.response
    scale = scale_response(analysis)
    sentence = ""
    if analysis.comparison is not None:
        sentence = " ".join(phrase_pair(pair, analysis, scale) for pair in analysis.comparison.pairs)
    if sentence and machines is not None:
        sentence = f"On the average of {machines.count} machines: {sentence}"
    goal = "higher" if response.direction == "higher" else "lower"
    note = f"{goal} is better; n = {format_count(analysis.observations.cells.n)}"
    return _OtherResponse(
        name=response.name,
        sentence=sentence,
        boxes=start_view(draw_response_boxes(analysis, scale, faceted=False)),
        packages=tabulate_packages(analysis, scale),
        warnings=tuple(finish_sentence(warning) for warning in analysis.warnings),
        note=note,
        machines=machines,
    )
