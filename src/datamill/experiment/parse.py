"""From the text of an experiment file to an `Experiment`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from datamill.experiment.errors import InputError
from datamill.experiment.factors import FACTORS, LARGEST_PADDING_BYTES, SMALLEST_PADDING_BYTES, Factor
from datamill.experiment.formula import parse_formula
from datamill.experiment.quantities import parse_duration, parse_size
from datamill.experiment.records import (
    Constraints,
    Experiment,
    FactorChoice,
    Limits,
    Package,
    Response,
)
from datamill.experiment.responses import BUILT_IN_UNITS, DEFAULT_RESPONSE
from datamill.experiment.source import Source
from datamill.experiment.suggestions import suggest_name
from datamill.experiment.units import check_unit

_SECTIONS = ("experiment", "package", "constraints", "factors", "responses", "limits")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_PERCENTAGE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
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
    head = _table(tables, "experiment", source)
    source.check_keys(
        head,
        ("name", "question", "replicates", "seed", "build", "isolation", "baseline",
         "confidence", "alpha", "interaction_order"),
        "experiment",
    )  # fmt: skip

    def field(key: str, kind: type[_T], default: _T) -> _T:
        return _typed(head, key, kind, default, source, "experiment")

    packages = _parse_packages(tables, source)
    title = field("name", str, "")
    if not _NAME.fullmatch(title):
        raise InputError(
            "the experiment needs a name of letters, digits, dots, underscores and dashes",
            where=source.locate("experiment", "name"),
            remedy='Write, say, name = "xz-vs-bzip2".',
        )
    experiment = Experiment(
        name=title,
        question=field("question", str, ""),
        replicates=_within(field("replicates", int, 1), 1, 1_000_000, source, "experiment", "replicates"),
        seed=_within(
            field("seed", int, _seed_from_name(title)), 0, _LARGEST_SEED, source, "experiment", "seed"
        ),
        packages=packages,
        constraints=_parse_constraints(tables, source),
        factors=_parse_factors(tables, source),
        responses=_parse_responses(tables, source),
        limits=_parse_limits(tables, source),
        build=_one_of(field("build", str, "fresh"), ("fresh", "shared"), source, "build"),  # type: ignore[arg-type]
        isolation=_one_of(
            field("isolation", str, "auto"),
            ("auto", "overlay", "user_namespace", "plain"),
            source,
            "isolation",
        ),  # type: ignore[arg-type]
        baseline=field("baseline", str, ""),
        confidence=_between(field("confidence", float, 0.95), 0.5, 1.0, source, "confidence"),
        alpha=_between(field("alpha", float, 0.01), 0.0, 0.5, source, "alpha"),
        interaction_order=_within(
            field("interaction_order", int, 2), 1, 10, source, "experiment", "interaction_order"
        ),
    )
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
    entries = tables.get("package", [])
    if isinstance(entries, dict):
        raise InputError(
            "packages are a list of tables", where=source.locate("package"), remedy="Write [[package]]."
        )
    if not isinstance(entries, list) or not entries:
        raise InputError(
            "the experiment names no package",
            where=source.locate("package"),
            remedy='Add a table [[package]] with name = "..." and path = "...".',
        )
    packages: list[Package] = []
    for index, entry in enumerate(entries):
        source.check_keys(entry, ("name", "path"), "package", occurrence=index)
        name, path = entry.get("name"), entry.get("path")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(
                "a package needs a name of letters, digits, dots, underscores and dashes",
                where=source.locate("package", "name", occurrence=index),
            )
        if not isinstance(path, str) or not path:
            raise InputError(
                f'package "{name}" needs a path',
                where=source.locate("package", "path", occurrence=index),
                remedy='Write path = "folder" or path = "file.tar.gz".',
            )
        if any(package.name == name for package in packages):
            raise InputError(
                f'two packages are called "{name}"',
                where=source.locate("package", "name", occurrence=index),
                remedy="Give each package a name of its own.",
            )
        packages.append(Package(name, path))
    return tuple(packages)


def _parse_constraints(tables: Mapping[str, Any], source: Source) -> Constraints:
    table = _table(tables, "constraints", source)
    source.check_keys(table, ("arch", "min_memory", "min_cores"), "constraints")
    arch = table.get("arch", [])
    if isinstance(arch, str):
        arch = [arch]
    if not isinstance(arch, list) or not all(isinstance(name, str) and name for name in arch):
        raise InputError(
            "arch must be a list of architectures",
            where=source.locate("constraints", "arch"),
            remedy='Write, say, arch = ["x86_64", "aarch64"].',
        )
    return Constraints(
        arch=tuple(arch),
        min_memory_bytes=parse_size(
            table.get("min_memory", 0), where=source.locate("constraints", "min_memory")
        ),
        min_cores=_within(
            _typed(table, "min_cores", int, 0, source, "constraints"),
            0,
            1 << 20,
            source,
            "constraints",
            "min_cores",
        ),
    )


def _parse_factors(tables: Mapping[str, Any], source: Source) -> tuple[FactorChoice, ...]:
    choices = []
    for name, wanted in _table(tables, "factors", source).items():
        where = source.locate("factors", name)
        if name not in FACTORS:
            raise InputError(f'unknown factor "{name}"', where=where, remedy=suggest_name(name, FACTORS))
        factor = FACTORS[name]
        if isinstance(wanted, str) and (match := _PERCENTAGE.fullmatch(wanted)):
            coverage = float(match[1]) / 100
            if coverage > 1:
                raise InputError("coverage cannot exceed 100%", where=where, remedy='Write, say, "75%".')
            choices.append(FactorChoice(name, coverage=coverage))
            continue
        listed = wanted if isinstance(wanted, list) else [wanted]
        if not listed:
            raise InputError(
                f'factor "{name}" has no levels',
                where=where,
                remedy='Name some, or write a share such as "100%".',
            )
        levels = tuple(_parse_level(factor, level, where) for level in listed)
        repeated = next((level for level in levels if levels.count(level) > 1), None)
        if repeated is not None:
            raise InputError(f'level "{repeated}" of factor "{name}" is named twice', where=where)
        choices.append(FactorChoice(name, levels=levels))
    return tuple(choices)


def _parse_level(factor: Factor, level: object, where: str) -> str:
    if isinstance(level, bool):
        level = "on" if level else "off"
    text = str(level) if isinstance(level, (str, int)) else repr(level)
    if factor.counts:
        if not text.isascii() or not text.isdecimal():
            raise InputError(
                f'level "{text}" of factor "{factor.name}" is not a whole number of bytes', where=where
            )
        size = int(text)
        if 0 < size < SMALLEST_PADDING_BYTES or size > LARGEST_PADDING_BYTES:
            raise InputError(
                f'level {size} of factor "{factor.name}" is out of range',
                where=where,
                remedy=f"It can be 0, or from {SMALLEST_PADDING_BYTES} to {LARGEST_PADDING_BYTES} bytes.",
            )
        return str(size)
    if text not in factor.levels:
        raise InputError(
            f'unknown level "{text}" of factor "{factor.name}"',
            where=where,
            remedy=suggest_name(text, factor.levels),
        )
    return text


def _parse_responses(tables: Mapping[str, Any], source: Source) -> tuple[Response, ...]:
    responses = []
    for name, entry in _table(tables, "responses", source).items():
        section = f"responses.{name}"
        if not _IDENTIFIER.fullmatch(name):
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
        formula = _typed(entry, "formula", str, name, source, section)
        if name in FACTORS or name == "package" or (name in BUILT_IN_UNITS and formula != name):
            kind = "built-in response" if name in BUILT_IN_UNITS else "factor"
            raise InputError(
                f'"{name}" is the name of a {kind}',
                where=source.locate(section),
                remedy="Give the response another name.",
            )
        parse_formula(formula, where=source.locate(section, "formula"))
        unit = _typed(entry, "unit", str, BUILT_IN_UNITS.get(formula, ""), source, section)
        if not unit:
            raise InputError(
                f'response "{name}" needs a unit',
                where=source.locate(section),
                remedy='Write, say, unit = "B/s"; unit = "1" for a plain number.',
            )
        direction = _typed(entry, "direction", str, "", source, section)
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
    table = _table(tables, "limits", source)
    durations = ("setup_timeout", "run_timeout", "collect_timeout")
    sizes = ("output", "archive", "package", "world")
    source.check_keys(table, (*durations, *sizes, "package_files"), "limits")
    given: dict[str, Any] = {}
    for key in durations:
        if key in table:
            given[f"{key}_s"] = parse_duration(table[key], where=source.locate("limits", key))
    for key in sizes:
        if key in table:
            given[f"{key}_bytes"] = parse_size(table[key], where=source.locate("limits", key))
    if "package_files" in table:
        count = _typed(table, "package_files", int, 0, source, "limits")
        given["package_files"] = _within(count, 1, 1 << 31, source, "limits", "package_files")
    return Limits(**given)


def _table(tables: Mapping[str, Any], key: str, source: Source) -> Mapping[str, Any]:
    table = tables.get(key, {})
    if not isinstance(table, dict):
        raise InputError(
            f'"{key}" must be a table',
            where=source.locate(key),
            remedy=f"Write [{key}] on a line of its own.",
        )
    return table


def _typed(
    table: Mapping[str, Any], key: str, kind: type[_T], default: _T, source: Source, section: str
) -> _T:
    if key not in table:
        return default
    value = table[key]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = {str: "a text in quotes", int: "a whole number", float: "a number"}
        raise InputError(
            f"{key} must be {names[kind]}, not {_spell(value)}", where=source.locate(section, key)
        )
    return value


def _spell(value: object) -> str:
    """Write a value as TOML does."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _within(value: int, low: int, high: int, source: Source, section: str, key: str) -> int:
    if not low <= value <= high:
        raise InputError(
            f"{key} must be from {low} to {high}, not {value}", where=source.locate(section, key)
        )
    return value


def _between(value: float, low: float, high: float, source: Source, key: str) -> float:
    if not low < value < high:
        raise InputError(
            f"{key} must lie between {low:g} and {high:g}, not {value:g}",
            where=source.locate("experiment", key),
        )
    return value


def _one_of(value: str, known: tuple[str, ...], source: Source, key: str) -> str:
    if value not in known:
        raise InputError(
            f'unknown {key} "{value}"',
            where=source.locate("experiment", key),
            remedy=suggest_name(value, known),
        )
    return value
