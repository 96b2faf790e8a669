"""From the keys of an experiment file about repetition and design: how often, which points, what order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast, get_args

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import (
    DesignChoice,
    DesignKind,
    FactorChoice,
    Package,
    Reference,
    Replication,
    StoppingRule,
)
from datamill.experiment.file.fields import (
    check_one_of,
    check_within,
    take_table,
    take_typed,
)
from datamill.experiment.file.source import Source
from datamill.experiment.hypothesis import Hypothesis
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.quantities import parse_duration, parse_share

_REPLICATION = (
    "builds", "executions", "measurements", "warmup", "randomise_builds", "until", "max_trials", "max_time",
)  # fmt: skip
#: Build factors that `randomise_builds` leaves to chance.
_CHANCE_IN_BUILDS = ("symbol_seed", "link_order")
_MOST = {"builds": 100_000, "executions": 100_000, "measurements": 10_000_000, "warmup": 10_000_000}


def parse_replication(tables: Mapping[str, Any], source: Source) -> Replication | None:
    """Return the nested replication that `[replication]` asks for; None without that section.

    Raises:
        InputError: for an unknown key, a number out of range, and `replicates` beside it.
    """
    if "replication" not in tables:
        return None
    table = take_table(tables, "replication", source)
    head = take_table(tables, "experiment", source)

    def refuse_replicates() -> None:
        if "replicates" in head:
            raise InputError(
                "replicates and [replication] both say how often trials are repeated",
                where=source.locate("experiment", "replicates"),
                remedy="Leave replicates out: they are builds times executions.",
            )

    def count(key: str) -> int:
        least = 1 if key in ("builds", "executions") else 0
        given = take_typed(table, key, int, least, source, "replication")
        return check_within(given, least, _MOST[key], source, "replication", key)

    mistakes = Mistakes()
    mistakes.attempt(lambda: source.check_keys(table, _REPLICATION, "replication"), None)
    mistakes.attempt(refuse_replicates, None)
    counts = {key: mistakes.attempt(partial(count, key), 1) for key in _MOST}
    randomise_builds = mistakes.attempt(
        lambda: take_typed(table, "randomise_builds", bool, False, source, "replication"), False
    )
    mistakes.refuse()
    if counts["warmup"] and not counts["measurements"]:
        raise InputError(
            "warmup counts measurements, and measurements does not say how many there are behind them",
            where=source.locate("replication", "warmup"),
            remedy="Write, say, measurements = 100; whole executions before the measured one are the factor "
            "warmups.",
        )
    if head.get("build") == "fresh" and counts["executions"] > 1:
        raise InputError(
            'build = "fresh" makes a build for each execution, and [replication] wants several of each build',
            where=source.locate("experiment", "build"),
            remedy="Leave build out.",
        )
    return Replication(**counts, randomise_builds=randomise_builds)


def add_build_chance(
    replication: Replication | None,
    factors: tuple[FactorChoice, ...],
    nuisance: tuple[FactorChoice, ...],
    source: Source,
) -> tuple[FactorChoice, ...]:
    """Return the nuisances with those that `randomise_builds` draws for each build.

    What the experiment names itself stays as it says; what only a policy fixes or varies is drawn.

    Raises:
        InputError: when the experiment leaves nothing to draw.
    """
    if replication is None or not replication.randomise_builds:
        return nuisance
    named = {choice.name for choice in (*factors, *nuisance) if not choice.by_policy}
    drawn = [name for name in _CHANCE_IN_BUILDS if name not in named]
    where = source.locate("replication", "randomise_builds")
    chosen = {choice.name: choice for choice in (*factors, *nuisance)}
    if not drawn and not any("random" in chosen[name].levels for name in _CHANCE_IN_BUILDS):
        raise InputError(
            f"randomise_builds draws {' and '.join(_CHANCE_IN_BUILDS)}, and the experiment sets both itself",
            where=where,
            remedy="Leave one of them out of [factors] and [nuisance], or leave randomise_builds out.",
        )
    kept = tuple(choice for choice in nuisance if choice.name not in drawn)
    added = (
        FactorChoice(name, levels=("random",), treatment="randomise", by_policy=True, where=where)
        for name in drawn
    )
    return (*kept, *added)


def parse_stopping_rule(
    tables: Mapping[str, Any],
    packages: tuple[Package, ...],
    confidence: float,
    claimed: Hypothesis | None,
    source: Source,
) -> StoppingRule | None:
    """Return the rule that `until` in `[replication]` states; None without one.

    `claimed` is the experiment's hypothesis if it is about the first response, which the rule looks at.

    Raises:
        InputError: for an unknown key, a number out of range, a rule that states both goals or none, or one
            that can go on for ever.
    """
    table = take_table(tables, "replication", source)
    where = source.locate("replication", "until")
    if "until" not in table:
        for key in ("max_trials", "max_time"):
            if key in table:
                raise InputError(
                    f"{key} bounds an experiment that stops by a rule, and there is none",
                    where=source.locate("replication", key),
                    remedy='Write, say, until = { half_width = "1%" }.',
                )
        return None
    rule = table["until"]
    if rule == "hypothesis":
        rule = {"hypothesis": True}
    if not isinstance(rule, dict):
        raise InputError(
            "until must be a table", where=where, remedy='Write, say, until = { half_width = "1%" }.'
        )
    for key in rule:
        if key not in ("half_width", "detect", "hypothesis", "confidence", "alpha", "power", "grow"):
            raise InputError(
                f'until has no key "{key}"',
                where=where,
                remedy="It has half_width and confidence, or detect or hypothesis, alpha, power; and grow.",
            )
    if sum(goal in rule for goal in ("half_width", "detect", "hypothesis")) != 1:
        raise InputError(
            "until states one goal: half_width of the intervals, the difference to detect, or the hypothesis",
            where=where,
            remedy='Write until = { half_width = "1%" }, until = { detect = "5%" } or until = "hypothesis".',
        )
    if "hypothesis" in rule and (rule["hypothesis"] is not True or claimed is None):
        raise InputError(
            "until is to stop for the hypothesis, and the experiment has none about its first response"
            if rule["hypothesis"] is True
            else "hypothesis in until is true or not there: the sentence stands under [experiment]",
            where=where,
            remedy='Write hypothesis = "A at least 10% lower than B" under [experiment], and '
            'until = "hypothesis".',
        )
    misplaced = ("alpha", "power") if "half_width" in rule else ("confidence",)
    for key in misplaced:
        if key in rule:
            goal = next(name for name in ("half_width", "detect", "hypothesis") if name in rule)
            raise InputError(f"{key} does not go with {goal}", where=where, remedy=f"Leave {key} out.")
    if "detect" in rule and len(packages) != 2:
        raise InputError(
            f"detect is about the difference of two packages, and there are {len(packages)}",
            where=where,
            remedy="Compare two packages, or ask for half_width.",
        )

    def number(key: str, default: float, low: float, high: float) -> float:
        value = take_typed(rule, key, float, default, source, "replication")
        if not low < value < high:
            bounds = f"{format_given(low)} and {format_given(high)}"
            raise InputError(f"{key} must lie between {bounds}, not {format_given(value)}", where=where)
        return value

    most = take_typed(table, "max_trials", int, 0, source, "replication")
    if "max_trials" in table:
        check_within(most, 1, 100_000_000, source, "replication", "max_trials")
    longest = (
        parse_duration(table["max_time"], where=source.locate("replication", "max_time"))
        if "max_time" in table
        else 0.0
    )
    if not most and not longest:
        raise InputError(
            "nothing bounds the experiment: noise may be too large for the rule ever to be met",
            where=where,
            remedy='Also write max_trials = 500 or max_time = "2 h".',
        )
    return StoppingRule(
        half_width=parse_share(rule["half_width"], where=where) if "half_width" in rule else None,
        detect=parse_share(rule["detect"], where=where) if "detect" in rule else None,
        hypothesis=claimed if "hypothesis" in rule else None,
        confidence=number("confidence", confidence, 0.5, 1.0),
        alpha=number("alpha", 0.05, 0.0, 0.5),
        power=number("power", 0.9, 0.0, 1.0),
        max_trials=most,
        max_time_s=longest,
        grow=parse_share(rule["grow"], where=where) if "grow" in rule else 0.0,
    )


def parse_design_choice(head: Mapping[str, Any], source: Source) -> DesignChoice:
    """Return which design the keys of `[experiment]` ask for.

    Raises:
        InputError: for an unknown design, a number out of range, or one that belongs to another design.
    """
    kind = check_one_of(
        take_typed(head, "design", str, "full", source, "experiment"),
        get_args(DesignKind),
        source,
        "experiment",
        "design",
    )
    owners = {"resolution": "fractional", "max_points": "d-optimal", "strength": "covering"}
    for key, owner in owners.items():
        if key in head and kind != owner:
            raise InputError(
                f'{key} belongs to design = "{owner}"',
                where=source.locate("experiment", key),
                remedy=f'Leave it out, or write design = "{owner}".',
            )

    if kind == "d-optimal" and "max_points" not in head:
        raise InputError(
            'design = "d-optimal" needs a budget of points',
            where=source.locate("experiment", "design"),
            remedy="Write, say, max_points = 24.",
        )

    def count(key: str, default: int, least: int, most: int) -> int:
        value = take_typed(head, key, int, default, source, "experiment")
        return check_within(value, least, most, source, "experiment", key)

    return DesignChoice(
        kind=cast(DesignKind, kind),
        resolution=count("resolution", 4, 3, 8) if kind == "fractional" else 0,
        max_points=count("max_points", 0, 2, 1_000_000) if kind == "d-optimal" else 0,
        strength=count("strength", 2, 2, 6),
    )


def parse_reference(
    tables: Mapping[str, Any], packages: tuple[Package, ...], source: Source
) -> Reference | None:
    """Return the reference trials that `[reference]` asks for; None without that section.

    Raises:
        InputError: for an unknown key, an unknown package or a number out of range.
    """
    if "reference" not in tables:
        return None
    table = take_table(tables, "reference", source)
    names = tuple(package.name for package in packages)

    def choose_package() -> str:
        usual = names[0] if len(names) == 1 else ""
        package = take_typed(table, "package", str, usual, source, "reference")
        return check_one_of(package, names, source, "reference", "package")

    def count_every() -> int:
        every = take_typed(table, "every", int, 20, source, "reference")
        return check_within(every, 1, 1_000_000, source, "reference", "every")

    mistakes = Mistakes()
    mistakes.attempt(lambda: source.check_keys(table, ("package", "every"), "reference"), None)
    reference = Reference(
        package=mistakes.attempt(choose_package, ""), every=mistakes.attempt(count_every, 20)
    )
    mistakes.refuse()
    return reference
