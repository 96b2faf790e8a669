"""From the text of an experiment file to an `Experiment`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from datamill.experiment.errors import InputError
from datamill.experiment.factors import FACTORS
from datamill.experiment.fields import (
    IDENTIFIER,
    NAME,
    check_between,
    check_one_of,
    check_within,
    parse_packages,
    take_table,
    take_typed,
)
from datamill.experiment.formula import parse_formula
from datamill.experiment.parse_factors import parse_factor_sections
from datamill.experiment.parse_fleet import (
    parse_constraints,
    parse_coverage,
    parse_fleet_choice,
)
from datamill.experiment.parse_needs import check_guests_needs
from datamill.experiment.parse_replication import (
    add_build_chance,
    parse_design_choice,
    parse_reference,
    parse_replication,
    parse_stopping_rule,
)
from datamill.experiment.quantities import parse_duration, parse_size
from datamill.experiment.records import (
    BlockCondition,
    Experiment,
    Isolation,
    Limits,
    Package,
    Response,
    TrialOrder,
)
from datamill.experiment.responses import BUILT_IN_UNITS, DEFAULT_RESPONSE
from datamill.experiment.source import Source
from datamill.experiment.suggestions import suggest_name
from datamill.experiment.units import check_unit

_SECTIONS = (
    "experiment", "replication", "reference", "package", "load", "constraints", "factors", "nuisance",
    "factor", "responses", "limits", "coverage", "fleet",
)  # fmt: skip
#: Largest seed: a whole number that JSON readers everywhere keep exactly.
_LARGEST_SEED = (1 << 53) - 1

_T = TypeVar("_T")


def parse_experiment(text: str, *, name: str) -> Experiment:
    """Return the experiment that a TOML text describes.

    Args:
        text: the file's content.
        name: the file's name, for messages.

    Raises:
        InputError: for anything that is missing, unknown or out of range, with the line and the remedy.
    """
    source = Source(name, text)
    tables = source.parse()
    for key in tables:
        if key not in _SECTIONS:
            raise InputError(
                f'unknown section "[{key}]"', where=source.locate(key), remedy=suggest_name(key, _SECTIONS)
            )
    head = take_table(tables, "experiment", source)
    source.check_keys(
        head,
        ("name", "question", "replicates", "seed", "build", "isolation", "baseline",
         "confidence", "alpha", "interaction_order", "design", "resolution", "max_points", "strength",
         "order", "block"),
        "experiment",
    )  # fmt: skip

    def field(key: str, kind: type[_T], default: _T) -> _T:
        return take_typed(head, key, kind, default, source, "experiment")

    packages = _parse_packages(tables, source)
    loads = parse_packages(tables, "load", source)
    sections = parse_factor_sections(tables, loads, source)
    title = field("name", str, "")
    if not NAME.fullmatch(title):
        raise InputError(
            "the experiment needs a name of letters, digits, dots, underscores and dashes",
            where=source.locate("experiment", "name"),
            remedy='Write, say, name = "xz-vs-bzip2".',
        )
    replication = parse_replication(tables, source)
    confidence = check_between(field("confidence", float, 0.95), 0.5, 1.0, source, "experiment", "confidence")
    replicates = check_within(field("replicates", int, 1), 1, 1_000_000, source, "experiment", "replicates")
    if replication is not None:
        replicates = replication.builds * replication.executions
    usual_build = "fresh" if replication is None else "shared"
    experiment = Experiment(
        name=title,
        question=field("question", str, ""),
        replicates=replicates,
        seed=check_within(
            field("seed", int, _seed_from_name(title)), 0, _LARGEST_SEED, source, "experiment", "seed"
        ),
        packages=packages,
        constraints=parse_constraints(tables, source),
        factors=sections.factors,
        nuisance=add_build_chance(replication, sections.factors, sections.nuisance, source),
        loads=loads,
        user_factors=sections.user_factors,
        responses=_parse_responses(tables, source),
        limits=_parse_limits(tables, source),
        build=check_one_of(
            field("build", str, usual_build), ("fresh", "shared"), source, "experiment", "build"
        ),  # type: ignore[arg-type]
        isolation=check_one_of(
            field("isolation", str, "auto"),
            get_args(Isolation),
            source,
            "experiment",
            "isolation",
        ),  # type: ignore[arg-type]
        baseline=field("baseline", str, ""),
        confidence=confidence,
        alpha=check_between(field("alpha", float, 0.01), 0.0, 0.5, source, "experiment", "alpha"),
        interaction_order=check_within(
            field("interaction_order", int, 2), 1, 10, source, "experiment", "interaction_order"
        ),
        replication=replication,
        until=parse_stopping_rule(tables, packages, confidence, source),
        design=parse_design_choice(head, source),
        order=check_one_of(
            field("order", str, "random"), get_args(TrialOrder), source, "experiment", "order"
        ),  # type: ignore[arg-type]
        block=check_one_of(
            field("block", str, "none"), get_args(BlockCondition), source, "experiment", "block"
        ),  # type: ignore[arg-type]
        reference=parse_reference(tables, packages, source),
        coverage=parse_coverage(tables, source),
        fleet=parse_fleet_choice(tables, source),
    )
    check_guests_needs(experiment, source)
    names = [package.name for package in packages]
    if experiment.baseline and experiment.baseline not in names:
        raise InputError(
            f'the baseline "{experiment.baseline}" is not a package of this experiment',
            where=source.locate("experiment", "baseline"),
            remedy=suggest_name(experiment.baseline, names),
        )
    return experiment


def _seed_from_name(name: str) -> int:
    """A file without a seed still gives the same order everywhere."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")


def _parse_packages(tables: Mapping[str, Any], source: Source) -> tuple[Package, ...]:
    packages = parse_packages(tables, "package", source)
    if not packages:
        raise InputError(
            "the experiment names no package",
            where=source.locate("package"),
            remedy='Add a table [[package]] with name = "..." and path = "...".',
        )
    return packages


def _parse_responses(tables: Mapping[str, Any], source: Source) -> tuple[Response, ...]:
    responses = []
    for name, entry in take_table(tables, "responses", source).items():
        section = f"responses.{name}"
        if not IDENTIFIER.fullmatch(name):
            raise InputError(
                f'"{name}" cannot name a response',
                where=source.locate(section),
                remedy="Use letters, digits and underscores.",
            )
        if not isinstance(entry, dict):
            raise InputError(
                f'response "{name}" must be a table',
                where=source.locate("responses", name),
                remedy=f"Write [responses.{name}] with unit, formula and direction.",
            )
        source.check_keys(entry, ("unit", "formula", "direction"), section)
        formula = take_typed(entry, "formula", str, name, source, section)
        if name in FACTORS or name in ("package", "machine") or (name in BUILT_IN_UNITS and formula != name):
            kind = "built-in response" if name in BUILT_IN_UNITS else "factor"
            raise InputError(
                f'"{name}" is the name of a {kind}',
                where=source.locate(section),
                remedy="Give the response another name.",
            )
        parse_formula(formula, where=source.locate(section, "formula"))
        unit = take_typed(entry, "unit", str, BUILT_IN_UNITS.get(formula, ""), source, section)
        if not unit:
            raise InputError(
                f'response "{name}" needs a unit',
                where=source.locate(section),
                remedy='Write, say, unit = "B/s"; unit = "1" for a plain number.',
            )
        direction = take_typed(entry, "direction", str, "", source, section)
        if direction not in ("higher", "lower"):
            raise InputError(
                f'response "{name}" does not say which direction is better'
                if not direction
                else f'unknown direction "{direction}"',
                where=source.locate(section, "direction"),
                remedy='Write direction = "higher" or direction = "lower".',
            )
        responses.append(
            Response(
                name=name,
                unit=check_unit(unit, where=source.locate(section, "unit")),
                formula=formula,
                direction=direction,  # type: ignore[arg-type]
            )
        )
    return tuple(responses) or (DEFAULT_RESPONSE,)


def _parse_limits(tables: Mapping[str, Any], source: Source) -> Limits:
    table = take_table(tables, "limits", source)
    durations = ("setup_timeout", "run_timeout", "collect_timeout")
    sizes = ("output", "archive", "package", "world", "memory")
    # The least of them lets a shell run a program.
    counts = {"package_files": 1, "processes": 2, "descriptors": 16}
    source.check_keys(table, (*durations, *sizes, *counts), "limits")
    given: dict[str, Any] = {}
    for key in durations:
        if key in table:
            given[f"{key}_s"] = parse_duration(table[key], where=source.locate("limits", key))
    for key in sizes:
        if key in table:
            given[f"{key}_bytes"] = parse_size(table[key], where=source.locate("limits", key))
    for key, least in counts.items():
        if key in table:
            count = take_typed(table, key, int, 0, source, "limits")
            given[key] = check_within(count, least, 1 << 31, source, "limits", key)
    return Limits(**given)
