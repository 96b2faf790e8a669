"""Whether the result of an experiment was reproduced by another execution of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from datamill.analysis.reproduction.effects import choose_kind, find_effects
from datamill.analysis.reproduction.judge import compare_effects, decide
from datamill.analysis.reproduction.reproduction import (
    USUAL_ALPHA,
    USUAL_MARGIN,
    Effect,
    EffectKind,
    Reproduction,
)
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Response
from datamill.experiment.messages.numbers import format_level


@dataclass(frozen=True, slots=True, eq=False)
class ExecutedExperiment:
    """One execution of an experiment: its question and plan, and the tidy table of what was measured."""

    experiment: Experiment
    design: Design
    table: pl.DataFrame


def judge_reproduction(
    original: ExecutedExperiment,
    rerun: ExecutedExperiment,
    *,
    margin: float = USUAL_MARGIN,
    alpha: float = USUAL_ALPHA,
) -> Reproduction:
    """Judge by the first response whether a re-run has the result of the original.

    The result is what the experiment is about, its effects as ratios, not its data: other machines may be
    slower in all (thesis 2015, section 5.7). A result is reproduced by equivalence: `compare_effects` and
    `decide` have the rule. Where both executions lack levels of each other, only common ones are compared.

    Args:
        original: the execution whose result is in question.
        rerun: another one.
        margin: share by which a ratio may differ and still be the same result; chosen before the re-run.
        alpha: rate of either mistake.

    Raises:
        InputError: the two do not measure the same, or one has nothing to compare.
    """
    response = _find_response(original.experiment, rerun.experiment)
    kind = choose_kind(original.experiment, original.design)
    warnings: list[str] = []
    lost: list[str] = []
    tables = _keep_common(original, rerun, response, kind, warnings, lost)
    found = [
        find_effects(execution.experiment, execution.design, table, response, kind)
        for execution, table in zip((original, rerun), tables, strict=True)
    ]
    for name, item in zip(("original", "re-run"), found, strict=True):
        warnings += [f"{name}: {warning}" for warning in item.warnings]
    first, second = found[0].effects, found[1].effects
    effects = compare_effects(first, second, margin=margin, alpha=alpha)
    missing = (*lost, *_name_missing(first, second))
    machines = [_list_machines(execution.table, response) for execution in (original, rerun)]
    if kind == "value":
        warnings.append(
            "the experiment compares nothing, so that its value itself is compared: other machines have "
            "others"
        )
    if set(machines[0]) != set(machines[1]):
        warnings.append(
            "the machines are not the same: the intervals hold for those that took part, and an effect "
            "that differs between machines shows as a difference"
        )
    if any(effect.change.low == effect.change.high for effect in effects):
        warnings.append("observations at a design point do not differ at all, so that there is no error")
    rows = [table.filter(pl.col("response") == response.name, pl.col("valid")).height for table in tables]
    return Reproduction(
        response=response.name,
        unit=found[0].unit,
        kind=kind,
        verdict=decide(effects, missing=len(missing)),
        effects=effects,
        missing=missing,
        margin=margin,
        alpha=alpha,
        confidence=1 - 2 * alpha,
        n_original=rows[0],
        n_rerun=rows[1],
        machines_original=machines[0],
        machines_rerun=machines[1],
        method=(
            f"equivalence of ratios within ±{format_level(margin)} by two one-sided tests at "
            f"{format_level(alpha)} on the logarithm, Welch-Satterthwaite degrees of freedom"
            + (f"; Bonferroni over {len(effects)} effects for differences" if len(effects) > 1 else "")
        ),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _find_response(original: Experiment, rerun: Experiment) -> Response:
    """The first response of the original, which the re-run must have as well."""
    if not original.responses:
        raise InputError("the experiment has no response", remedy="Add a section [responses.NAME].")
    response = original.responses[0]
    again = next((item for item in rerun.responses if item.name == response.name), None)
    if again is None:
        raise InputError(
            f'the re-run does not measure "{response.name}", the first response of the original',
            remedy="Give two executions of one experiment.",
        )
    if (again.unit, again.formula) != (response.unit, response.formula):
        raise InputError(
            f'"{response.name}" is not the same in both: {response.formula} in {response.unit or "no unit"}, '
            f"then {again.formula} in {again.unit or 'no unit'}",
            remedy="Give two executions of one experiment.",
        )
    return response


def _keep_common(
    original: ExecutedExperiment,
    rerun: ExecutedExperiment,
    response: Response,
    kind: EffectKind,
    warnings: list[str],
    lost: list[str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows at levels that both have; machines are kept, but for a value.

    What the result is about and the re-run lacks is added to `lost`.
    """
    names = ["package", *(factor.name for factor in original.design.crossed)]
    tables = [original.table, rerun.table]
    for name in dict.fromkeys(names):
        if name == MACHINE_FACTOR and kind != "value":
            continue
        if any(name not in table.columns for table in tables):
            continue
        levels = [_list_levels(table, response, name) for table in tables]
        common = [level for level in levels[0] if level in levels[1]]
        if not common:
            raise InputError(
                f"the re-run has no {name} of the original: {', '.join(levels[1][:5]) or 'nothing valid'} "
                f"instead of {', '.join(levels[0][:5]) or 'nothing valid'}",
                remedy="Give two executions of one experiment.",
            )
        left_out = [level for level in dict.fromkeys((*levels[0], *levels[1])) if level not in common]
        if left_out:
            warnings.append(f"{name} {', '.join(left_out)} is in one of the two only, and left out of both")
            if name != MACHINE_FACTOR and (name == "package") == (kind == "packages"):
                lost += [f"{name} {level}" for level in levels[0] if level not in common]
            tables = [
                table.filter(pl.col(name).cast(pl.String).is_in(common) | pl.col(name).is_null())
                for table in tables
            ]
    return tables[0], tables[1]


def _list_levels(table: pl.DataFrame, response: Response, name: str) -> list[str]:
    rows = table.filter(pl.col("response") == response.name, pl.col("valid"))
    return [str(level) for level in rows[name].drop_nulls().unique(maintain_order=True)]


def _list_machines(table: pl.DataFrame, response: Response) -> tuple[str, ...]:
    name = MACHINE_FACTOR if MACHINE_FACTOR in table.columns else "worker"
    return tuple(sorted(_list_levels(table, response, name))) if name in table.columns else ()


def _name_missing(first: Sequence[Effect], second: Sequence[Effect]) -> tuple[str, ...]:
    """Name the effects that one execution has alone."""
    keys = {effect.key for effect in first} ^ {effect.key for effect in second}
    both = [effect.key for effect in (*first, *second)]
    return tuple(
        f"{factor} {level} against {baseline}" if factor else "the mean"
        for factor, level, baseline in dict.fromkeys(both)
        if (factor, level, baseline) in keys
    )
