"""What several experiments are asked together, and what they have in common to be asked about."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from datamill.analysis.versions.version_comparison import VersionAdjustment
from datamill.design.design import DesignFactor
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction
from datamill.experiment.messages.arguments import Argument, command, speak_command_line
from datamill.experiment.messages.phrases import join_names
from datamill.experiment.responses import Response, tell_formulas
from datamill.report.tables.markup import TableForm

#: How the statement is written: as on a terminal, with what specialists look for, or its tables alone.
StatementForm = Literal["text", "verbose"] | TableForm
PACKAGE = "package"


@dataclass(frozen=True, slots=True)
class AskedComparison:
    """What is asked: arguments of `datamill compare`, of which empty ones are its usual.

    Without a response or a level in `where` the first is taken that all experiments have.
    """

    response: str = ""
    where: tuple[tuple[str, str], ...] = ()
    series: bool = False
    baseline: str = ""
    threshold: float = 0.01
    confidence: float | None = None
    alpha: float | None = None
    adjust: VersionAdjustment = "bonferroni"
    direction: Direction | None = None
    seed: int = 1
    form: StatementForm = "text"


@dataclass(frozen=True, slots=True)
class ExperimentOffer:
    """What an experiment has to be compared by: packages, responses, factors with their levels."""

    number: int
    packages: tuple[str, ...]
    responses: tuple[Response, ...]
    factors: tuple[DesignFactor, ...]

    def list_levels(self, factor: str) -> tuple[str, ...]:
        """Return the levels of a factor, none where the experiment does not set it."""
        return next((item.levels for item in self.factors if item.name == factor), ())


@dataclass(frozen=True, slots=True)
class CommonFactor:
    """A factor that varies within one experiment or more, and the levels that all of them have."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommonGround:
    """What all experiments have in common; `factors` are those of which a level has to be chosen.

    `responses` have the same name and the same formula in all of them.
    """

    offers: tuple[ExperimentOffer, ...]
    packages: tuple[str, ...]
    responses: tuple[str, ...]
    factors: tuple[CommonFactor, ...]

    def list_choices(self) -> dict[str, tuple[str, ...]]:
        """Return what can be chosen in `where`: packages and levels of which all experiments have several."""
        known = {PACKAGE: self.packages} | {factor.name: factor.levels for factor in self.factors}
        return {name: levels for name, levels in known.items() if len(levels) > 1}


def share_offers(offers: Sequence[ExperimentOffer]) -> CommonGround:
    """Find what offers have in common, in the order of the first one."""
    varied = dict.fromkeys(
        factor.name
        for offer in offers
        for factor in offer.factors
        if factor.role == "factor" and len(factor.levels) > 1 and factor.name != PACKAGE
    )
    return CommonGround(
        tuple(offers),
        _intersect([offer.packages for offer in offers]),
        _intersect_responses(offers),
        tuple(
            CommonFactor(name, _intersect([offer.list_levels(name) for offer in offers])) for name in varied
        ),
    )


def _intersect(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for name in lists[0] if all(name in names for names in lists))


def _intersect_responses(offers: Sequence[ExperimentOffer]) -> tuple[str, ...]:
    known = [{(item.name, item.plain_formula) for item in offer.responses} for offer in offers]
    first = offers[0].responses
    return tuple(item.name for item in first if all((item.name, item.plain_formula) in had for had in known))


def complete_question(asked: AskedComparison, ground: CommonGround) -> AskedComparison:
    """Return the question with the first response, package and levels that all experiments have.

    Where each experiment has a single package, and they differ, these are the versions.

    Raises:
        InputError: something has to be chosen of which they have nothing in common; says what each has.
    """
    where = dict(asked.where)
    if PACKAGE not in where:
        if ground.packages:
            where[PACKAGE] = ground.packages[0]
        elif any(len(offer.packages) > 1 for offer in ground.offers):
            packages = [offer.packages for offer in ground.offers]
            raise _refuse(ground, "have no package of the same name", packages)
    names = [tuple(response.name for response in offer.responses) for offer in ground.offers]
    for name in (asked.response,) if asked.response else () if ground.responses else _intersect(names):
        _refuse_formulas(ground, name)
    if not asked.response and not ground.responses:
        raise _refuse(ground, "have no response in common", names)
    for factor in ground.factors:
        if factor.name in where:
            continue
        if not factor.levels:
            levels = [offer.list_levels(factor.name) for offer in ground.offers]
            raise _refuse(ground, f"vary in {factor.name} and have no level of it in common", levels)
        where[factor.name] = factor.levels[0]
    # In one order, so that a question is the same however it was put.
    ordered = sorted(where.items(), key=lambda item: (item[0] != PACKAGE, item))
    return replace(asked, response=asked.response or ground.responses[0], where=tuple(ordered))


def _refuse_formulas(ground: CommonGround, name: str) -> None:
    """Refuse a response that is something else in each experiment, though its name is the same."""
    told = tell_formulas(name, [(f"experiment {offer.number}", offer.responses) for offer in ground.offers])
    if told:
        others = f"Compare them by {join_names(ground.responses)}." if ground.responses else ""
        raise InputError(
            f"{told}, so that these cannot be compared",
            remedy=others or "Compare experiments that measure the same.",
        )


def _refuse(ground: CommonGround, what: str, lists: Sequence[tuple[str, ...]]) -> InputError:
    numbers = join_names([str(offer.number) for offer in ground.offers])
    had = [
        f"Experiment {offer.number} has {join_names(names) if names else 'none'}."
        for offer, names in zip(ground.offers, lists, strict=True)
    ]
    return InputError(f"experiments {numbers} {what}, so that they cannot be compared", remedy=" ".join(had))


def spell_command(numbers: Sequence[int], asked: AskedComparison) -> str:
    """Write the command that asks the coordinator the same."""
    usual = AskedComparison()
    given = [("experiment", str(number)) for number in numbers]
    for name in ("response", "baseline", "threshold", "confidence", "alpha", "adjust", "direction", "seed"):
        if (value := getattr(asked, name)) != getattr(usual, name):
            given.append((name, str(value)))
    given += [("where", f"{name}={level}") for name, level in asked.where]
    if asked.series:
        given.append(("series", ""))
    options = [speak_command_line(Argument(name, value and shlex.quote(value))) for name, value in given]
    return " ".join([command("compare"), *options])
