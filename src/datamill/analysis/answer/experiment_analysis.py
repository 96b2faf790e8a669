"""Everything that an experiment says, inferred once for the page, the terminal, JSON and Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from datamill.analysis.answer.claims.hypothesis import JudgedHypothesis, judge_hypothesis
from datamill.analysis.answer.doubtful_trials import (
    BrokenRule,
    DoubtfulTrials,
    leave_out_doubtful,
    list_broken_rules,
)
from datamill.analysis.answer.left_out import (
    Exclusion,
    PutAside,
    count_planned_aside,
    list_exclusions,
)
from datamill.analysis.answer.levels_of_repetition import LevelsOfRepetition, share_out_uncertainty
from datamill.analysis.answer.machines.machine_by_machine import (
    MachineByMachine,
    RelativeStudy,
    compare_machine_by_machine,
    relate_to_machines,
)
from datamill.analysis.answer.response import ResponseAnalysis, analyze_response
from datamill.analysis.answer.screening import (
    Screening,
    find_observed_aliases,
    list_screened,
    screen_response,
)
from datamill.analysis.answer.tail_quantiles import TailQuantiles, fit_tail_quantiles
from datamill.analysis.assumptions.diagnostics import Diagnostics, gather_diagnostics
from datamill.analysis.drift.drift import Drift
from datamill.analysis.drift.find import find_drift
from datamill.analysis.drift.select import select_run_order
from datamill.design.design import Design
from datamill.design.points.aliases import AliasStructure
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Response


@dataclass(frozen=True, slots=True, eq=False)
class ResponseAnswer:
    """What the data say of one response.

    `given` is the response as the experiment has it. Where `levels` has each machine's own level, in the
    response's unit, `analysis` is of values in percent of these; `machines` has each machine by itself, None
    where there are not several.
    """

    given: Response
    analysis: ResponseAnalysis
    machines: MachineByMachine | None = None
    levels: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AnsweringResponse(ResponseAnswer):
    """The first response, which answers the question, with what may limit the answer.

    None stands for what was not asked about or cannot be known. `aliases` is what the points that have data
    cannot tell apart, of a `screening`; `diagnostics` are of what the model leaves over.
    """

    doubtful: DoubtfulTrials | None = None
    drift: Drift | None = None
    repetition: LevelsOfRepetition | None = None
    quantiles: TailQuantiles | None = None
    screening: Screening | None = None
    aliases: AliasStructure | None = None
    diagnostics: Diagnostics | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentAnalysis:
    """What an experiment says: what was asked, what was planned and measured, and what follows from it.

    `answering` is None while the first response has no valid observation; `others` follow in the
    experiment's order, and `missing` names the responses without any. `table` is the tidy table as measured.
    `exclusions` and `put_aside` are what of it no answer uses; `hypothesis` is
    what becomes of the experiment's. Doubtful trials have broken one of the
    `broken_rules`.
    """

    experiment: Experiment
    design: Design
    table: pl.DataFrame
    answering: AnsweringResponse | None
    others: tuple[ResponseAnswer, ...]
    missing: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]
    put_aside: PutAside
    broken_rules: tuple[BrokenRule, ...]
    hypothesis: JudgedHypothesis | None = None

    @property
    def survivors(self) -> tuple[str, ...]:
        """Factors that a screening found to move the response."""
        if self.answering is None or self.answering.screening is None:
            return ()
        return tuple(self.answering.screening.survivors)


def analyze_experiment(experiment: Experiment, design: Design, table: pl.DataFrame) -> ExperimentAnalysis:
    """Infer all that an experiment says from its tidy table; partial data are fine.

    Raises:
        InputError: the experiment has no response, or a factor's column is missing.
    """
    if not experiment.responses:
        raise InputError("the experiment has no response", remedy="Add a section [responses.NAME].")
    related = relate_to_machines(experiment, design, table)
    answers = [_answer_response(experiment, related, design, table, given) for given in experiment.responses]
    first, names = answers[0], [given.name for given in experiment.responses]
    return ExperimentAnalysis(
        experiment=experiment,
        design=design,
        table=table,
        answering=None if first is None else _look_closer(first, experiment, related, design),
        others=tuple(answer for answer in answers[1:] if answer is not None),
        missing=tuple(name for name, answer in zip(names, answers, strict=True) if answer is None),
        exclusions=list_exclusions(table, names),
        put_aside=count_planned_aside(table, names),
        broken_rules=list_broken_rules(table, names),
        hypothesis=judge_hypothesis(related.experiment, design, related.table),
    )


def _answer_response(
    experiment: Experiment, related: RelativeStudy, design: Design, table: pl.DataFrame, given: Response
) -> ResponseAnswer | None:
    """What the data say of a response; None where no observation of it is valid."""
    if table.filter((pl.col("response") == given.name) & pl.col("valid")).height == 0:
        return None
    response = next(item for item in related.experiment.responses if item.name == given.name)
    analysis = analyze_response(related.experiment, design, related.table, response)
    if reason := related.unchanged.get(given.name):
        analysis = replace(analysis, warnings=(*analysis.warnings, reason))
    machines = compare_machine_by_machine(experiment, design, table, given)
    return ResponseAnswer(given, analysis, machines, related.levels.get(given.name))


def _look_closer(
    answer: ResponseAnswer,
    experiment: Experiment,
    related: RelativeStudy,
    design: Design,
) -> AnsweringResponse:
    """Look at what may limit the answer to the question."""
    analysis = answer.analysis
    screening, aliases = None, None
    if experiment.design.kind == "screening":
        screening = screen_response(design, analysis)
        aliases = find_observed_aliases(analysis.observations.cells, list_screened(design))
    return AnsweringResponse(
        given=answer.given,
        analysis=analysis,
        machines=answer.machines,
        levels=answer.levels,
        doubtful=leave_out_doubtful(related.experiment, design, related.table, analysis.response),
        drift=find_response_drift(experiment, design, related.table, analysis.response.name),
        repetition=share_out_uncertainty(experiment, design, related.table, analysis.response),
        quantiles=fit_tail_quantiles(analysis),
        screening=screening,
        aliases=aliases,
        diagnostics=_diagnose(analysis),
    )


def _diagnose(analysis: ResponseAnalysis) -> Diagnostics | None:
    """What the pictures of the residuals show, of the model with blocks where there is one."""
    cells, model = analysis.observations.cells, analysis.model
    if analysis.blocked is not None:
        cells, model = analysis.blocked.cells, analysis.blocked.model
    return None if model is None else gather_diagnostics(cells, model)


def find_response_drift(
    experiment: Experiment, design: Design, table: pl.DataFrame, response: str
) -> Drift | None:
    """Look for drift in a response; None where the table says nothing of order or trials are too few."""
    warmup = experiment.replication.warmup if experiment.replication is not None else 0
    names = [factor.name for factor in design.crossed]
    packages = [package.name for package in experiment.packages]
    order = select_run_order(table, response, names, packages=packages, warmup=warmup)
    if order is None:
        return None
    return find_drift(
        order,
        compare_blocks=experiment.block != "none" and len(order.blocks) > 1,
        confidence=experiment.confidence,
        alpha=experiment.alpha,
    )
