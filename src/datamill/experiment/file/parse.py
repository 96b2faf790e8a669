"""From the text of an experiment file to an `Experiment`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar, get_args

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import (
    BlockCondition,
    Constraints,
    DesignChoice,
    Experiment,
    FactorChoice,
    FleetChoice,
    Isolation,
    Limits,
    Package,
    QuietChoice,
    Response,
    ScreenFirst,
    TrialOrder,
)
from datamill.experiment.file.fields import (
    NAME,
    check_between,
    check_one_of,
    check_within,
    take_table,
    take_typed,
)
from datamill.experiment.file.packages.parse_needs import check_guests_needs
from datamill.experiment.file.packages.parse_packages import parse_packages
from datamill.experiment.file.parse_factors import parse_factor_sections
from datamill.experiment.file.parse_fleet import (
    parse_constraints,
    parse_coverage,
    parse_fleet_choice,
    parse_quiet,
)
from datamill.experiment.file.parse_replication import (
    add_build_chance,
    parse_design_choice,
    parse_reference,
    parse_replication,
    parse_stopping_rule,
)
from datamill.experiment.file.parse_responses import parse_responses
from datamill.experiment.file.source import Source
from datamill.experiment.file.sweeps.parse_sweeps import place_arguments
from datamill.experiment.hypothesis import Hypothesis, parse_hypothesis
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import parse_duration, parse_size

_HEAD = (
    "name", "question", "replicates", "seed", "build", "isolation", "baseline", "confidence", "alpha",
    "interaction_order", "design", "resolution", "max_points", "strength", "order", "block", "screen",
    "hypothesis", "quiet",
)  # fmt: skip
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
    mistakes = Mistakes()
    attempt = mistakes.attempt
    attempt(lambda: _check_sections(tables, source), None)
    head = take_table(tables, "experiment", source)
    attempt(lambda: source.check_keys(head, _HEAD, "experiment"), None)

    def field(key: str, kind: type[_T], default: _T) -> _T:
        return take_typed(head, key, kind, default, source, "experiment")

    def word(key: str, default: str, known: tuple[str, ...]) -> Any:
        return attempt(
            lambda: check_one_of(field(key, str, default), known, source, "experiment", key), default
        )

    def number(key: str, default: int, low: int, high: int) -> int:
        return attempt(
            lambda: check_within(field(key, int, default), low, high, source, "experiment", key), default
        )

    def share(key: str, default: float, low: float, high: float) -> float:
        return attempt(
            lambda: check_between(field(key, float, default), low, high, source, "experiment", key), default
        )

    title = attempt(lambda: _take_title(head, source), "")
    none_sound: tuple[Package, ...] = ()
    sound = attempt(lambda: _parse_packages(tables, source), none_sound)
    packages = sound or _take_names(tables, "package")
    loads = attempt(lambda: parse_packages(tables, "load", source), _take_names(tables, "load"))
    sections = attempt(lambda: parse_factor_sections(tables, loads, source), None)
    if sections is not None and sound:
        # What stands in a command of a package that cannot be read is not known.
        packages = attempt(partial(place_arguments, packages, sections.sweeps, source), packages)
    replication = attempt(lambda: parse_replication(tables, source), None)
    confidence = share("confidence", 0.95, 0.5, 1.0)
    nuisance: tuple[FactorChoice, ...] = ()
    if sections is not None:
        crossed, others = sections.factors, sections.nuisance
        nuisance = attempt(lambda: add_build_chance(replication, crossed, others, source), ())
    replicates = number("replicates", 1, 1, 1_000_000)
    if replication is not None:
        replicates = replication.builds * replication.executions

    def choose_screen() -> Any:
        screen = check_one_of(
            field("screen", str, "never"), get_args(ScreenFirst), source, "experiment", "screen"
        )
        if screen == "auto" and head.get("design") == "screening":
            raise InputError(
                'screen = "auto" puts a screening before an experiment, and this is one by itself',
                where=source.locate("experiment", "screen"),
                remedy="Leave one of design and screen out.",
            )
        return screen

    nothing: tuple[Response, ...] = ()
    responses = attempt(lambda: parse_responses(tables, source), nothing)

    def take_hypothesis() -> Hypothesis | None:
        if "hypothesis" not in head:
            return None
        return parse_hypothesis(
            field("hypothesis", str, ""),
            packages=[package.name for package in packages],
            directions={response.name: response.direction for response in responses},
            where=source.locate("experiment", "hypothesis"),
        )

    def take_baseline() -> str:
        baseline, names = field("baseline", str, ""), [package.name for package in packages]
        if baseline and baseline not in names:
            raise InputError(
                f'the baseline "{baseline}" is not a package of this experiment',
                where=source.locate("experiment", "baseline"),
                remedy=suggest_name(baseline, names),
            )
        return baseline

    # Without any package, what speaks of packages cannot be right.
    baseline = attempt(take_baseline, "") if packages else ""
    # Nor are responses that are wrong said to be missing once more.
    hypothesis = attempt(take_hypothesis, None) if packages and responses else None
    claimed = hypothesis if responses and hypothesis and hypothesis.response == responses[0].name else None
    until = (
        attempt(lambda: parse_stopping_rule(tables, packages, confidence, claimed, source), None)
        if packages
        else None
    )
    reference = attempt(lambda: parse_reference(tables, packages, source), None) if packages else None
    experiment = Experiment(
        name=title,
        question=attempt(lambda: field("question", str, ""), ""),
        replicates=replicates,
        seed=number("seed", _seed_from_name(title), 0, _LARGEST_SEED),
        packages=packages,
        constraints=attempt(lambda: parse_constraints(tables, source), Constraints()),
        factors=() if sections is None else sections.factors,
        nuisance=nuisance,
        loads=loads,
        user_factors=() if sections is None else sections.user_factors,
        sweeps=() if sections is None else sections.sweeps,
        responses=responses,
        limits=attempt(lambda: _parse_limits(tables, source), Limits()),
        build=word("build", "fresh" if replication is None else "shared", ("fresh", "shared")),
        isolation=word("isolation", "auto", get_args(Isolation)),
        baseline=baseline,
        confidence=confidence,
        alpha=share("alpha", 0.01, 0.0, 0.5),
        interaction_order=number("interaction_order", 2, 1, 10),
        replication=replication,
        until=until,
        design=attempt(lambda: parse_design_choice(head, source), DesignChoice()),
        order=word("order", "random", get_args(TrialOrder)),
        block=word("block", "none", get_args(BlockCondition)),
        reference=reference,
        coverage=attempt(lambda: parse_coverage(tables, source), ()),
        fleet=attempt(lambda: parse_fleet_choice(tables, source), FleetChoice()),
        screen=attempt(choose_screen, "never"),
        hypothesis=hypothesis,
        quiet=attempt(lambda: parse_quiet(head, source), QuietChoice()),
    )
    attempt(lambda: check_guests_needs(experiment, source), None)
    mistakes.refuse()
    return experiment


def _check_sections(tables: Mapping[str, Any], source: Source) -> None:
    mistakes = Mistakes()

    def check(key: str) -> None:
        if key not in _SECTIONS:
            raise InputError(
                f'unknown section "[{key}]"', where=source.locate(key), remedy=suggest_name(key, _SECTIONS)
            )

    for key in tables:
        mistakes.attempt(partial(check, key), None)
    mistakes.refuse()


def _take_title(head: Mapping[str, Any], source: Source) -> str:
    title = take_typed(head, "name", str, "", source, "experiment")
    if not NAME.fullmatch(title):
        raise InputError(
            "the experiment needs a name of letters, digits, dots, underscores and dashes",
            where=source.locate("experiment", "name"),
            remedy='Write, say, name = "xz-vs-bzip2".',
        )
    return title


def _take_names(tables: Mapping[str, Any], section: str) -> tuple[Package, ...]:
    """Names of packages of which something else is wrong: no reference to them is called wrong too."""
    entries = tables.get(section)
    given = (
        [entry.get("name") for entry in entries if isinstance(entry, dict)]
        if isinstance(entries, list)
        else []
    )
    return tuple(Package(str(name), "") for name in given)


def _seed_from_name(name: str) -> int:
    """A file without a seed still gives the same order everywhere."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")


def _parse_packages(tables: Mapping[str, Any], source: Source) -> tuple[Package, ...]:
    packages = parse_packages(tables, "package", source)
    if not packages:
        raise InputError(
            "the experiment names no package",
            where=source.locate("package"),
            remedy='Add a table [[package]] with name = "..." and path = "..." or command = "...".',
        )
    return packages


def _parse_limits(tables: Mapping[str, Any], source: Source) -> Limits:
    table = take_table(tables, "limits", source)
    durations = ("setup_timeout", "run_timeout", "collect_timeout", "profile_timeout")
    sizes = ("output", "archive", "package", "world", "memory")
    # The least of them lets a shell run a program.
    counts = {"package_files": 1, "processes": 2, "descriptors": 16}

    def read(key: str) -> tuple[str, Any]:
        where = source.locate("limits", key)
        if key in durations:
            return f"{key}_s", parse_duration(table[key], where=where)
        if key in sizes:
            return f"{key}_bytes", parse_size(table[key], where=where)
        count = take_typed(table, key, int, 0, source, "limits")
        return key, check_within(count, counts[key], 1 << 31, source, "limits", key)

    known = (*durations, *sizes, *counts)
    mistakes = Mistakes()
    mistakes.attempt(lambda: source.check_keys(table, known, "limits"), None)
    given: list[tuple[str, Any]] = [
        mistakes.attempt(partial(read, key), (key, None)) for key in known if key in table
    ]
    mistakes.refuse()
    return Limits(**dict(given))
