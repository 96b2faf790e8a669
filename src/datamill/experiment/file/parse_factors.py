"""From the sections about factors of an experiment file to choices of levels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import FactorChoice, Package, Sweep, Treatment
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, FACTORS, NO_LOAD, USUAL_FACTORS
from datamill.experiment.factors.factor_record import Factor
from datamill.experiment.file.fields import IDENTIFIER, spell_value, take_table, take_tables, take_typed
from datamill.experiment.file.source import Source
from datamill.experiment.file.sweeps.parse_sweeps import parse_sweep
from datamill.experiment.levels import FreeText, WholeNumber, read_range, split_range
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import LONGEST_QUANTITY

TREATMENTS: tuple[Treatment, ...] = ("fix", "vary", "randomise")
_PERCENTAGE = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*%\s*")


@dataclass(frozen=True, slots=True)
class FactorSections:
    """What the sections `[factors]`, `[nuisance]`, `[[factor]]` say."""

    factors: tuple[FactorChoice, ...]
    nuisance: tuple[FactorChoice, ...]
    user_factors: tuple[str, ...]
    sweeps: tuple[Sweep, ...] = ()


def parse_factor_sections(
    tables: Mapping[str, Any], loads: tuple[Package, ...], source: Source
) -> FactorSections:
    """Return the choices of all factors.

    Where the experiment brings factors along, any other name may be theirs: whoever reads their folders
    checks that with `check_user_names`.

    Raises:
        InputError: for an unknown factor or level, a factor that is named twice, and choices that make no
            sense together.
    """
    mistakes = Mistakes()
    none: tuple[FactorChoice, ...] = ()
    no_paths: tuple[str, ...] = ()
    no_factors: Mapping[str, Any] = {}
    paths = mistakes.attempt(lambda: _parse_user_factors(tables, source), no_paths)
    screening = take_table(tables, "experiment", source).get("design") == "screening"
    reader = _Reader(source, loads, bool(tables.get("factor")))
    crossed = mistakes.attempt(lambda: take_table(tables, "factors", source), no_factors)
    swept = {
        name: mistakes.attempt(partial(parse_sweep, name, wanted, source), None)
        for name, wanted in crossed.items()
        if isinstance(wanted, dict)
    }
    sweeps = tuple(sweep for sweep in swept.values() if sweep is not None)

    def read_choice(name: str, wanted: object) -> FactorChoice | None:
        if name not in swept:
            return reader.read_choice("factors", name, "vary", wanted)
        sweep, section = swept[name], f"factors.{name}"
        where = source.locate(*((section,) if source.find_line(section) else ("factors", name)))
        return None if sweep is None else FactorChoice(name, sweep.levels, where=where)

    read = [mistakes.attempt(partial(read_choice, *item), None) for item in crossed.items()]
    factors = tuple(choice for choice in read if choice is not None)
    nuisance = mistakes.attempt(
        lambda: _parse_nuisance(tables, reader, set(crossed), screening=screening), none
    )
    mistakes.refuse()
    _check_together((*factors, *nuisance), loads, source)
    return FactorSections(factors, nuisance, paths, sweeps)


def check_user_names(
    choices: tuple[FactorChoice, ...], names: tuple[str, ...], taken: Mapping[str, str]
) -> None:
    """Refuse names that cannot be: of factors that are nobody's, and of user factors that exist already.

    Args:
        choices: of the experiment.
        names: of the factors that it brings along.
        taken: what else bears a name, by name.

    Raises:
        InputError: with the name and the nearest one.
    """
    counts = Counter(names)
    for name in names:
        kind = "built-in factor" if name in FACTORS else taken.get(name, "")
        if kind or counts[name] > 1:
            raise InputError(
                f'the factor that the experiment brings along has the name of a {kind}: "{name}"'
                if kind
                else f'two factors that the experiment brings along are called "{name}"',
                where="[[factor]]",
                remedy="Give it another name in its factor.toml.",
            )
    for choice in choices:
        if choice.name not in FACTORS and choice.name not in counts:
            raise InputError(
                f'unknown factor "{choice.name}"',
                where=choice.where,
                remedy=suggest_name(choice.name, (*FACTORS, *names)),
            )


def _parse_user_factors(tables: Mapping[str, Any], source: Source) -> tuple[str, ...]:
    paths: dict[str, None] = {}
    mistakes = Mistakes()

    def read(index: int, entry: Mapping[str, Any]) -> None:
        source.check_keys(entry, ("path",), "factor", occurrence=index)
        path = entry.get("path")
        if not isinstance(path, str) or not path:
            raise InputError(
                "a factor that the experiment brings along needs a path",
                where=source.locate("factor", "path", occurrence=index),
                remedy='Write path = "folder", a folder with a factor.toml.',
            )
        if path in paths:
            raise InputError(
                f'the factor in "{path}" is named twice',
                where=source.locate("factor", "path", occurrence=index),
            )
        paths[path] = None

    for index, entry in enumerate(take_tables(tables, "factor", source)):
        mistakes.attempt(partial(read, index, entry), None)
    mistakes.refuse()
    return tuple(paths)


def _parse_nuisance(
    tables: Mapping[str, Any], reader: _Reader, crossed: set[str], *, screening: bool
) -> tuple[FactorChoice, ...]:
    source = reader.source
    given_table = take_table(tables, "nuisance", source)
    table = {name: given for name, given in given_table.items() if name != "policy"}

    def read(name: str, given: object) -> FactorChoice:
        where = source.locate("nuisance", name)
        if name in crossed:
            raise InputError(
                f'factor "{name}" stands in [factors] and in [nuisance]',
                where=where,
                remedy="Leave it in [factors] if the question is about it, else in [nuisance].",
            )
        if not isinstance(given, dict) or len(given) != 1:
            raise InputError(
                f'"{name}" does not say what becomes of it',
                where=where,
                remedy=f'Write, say, {name} = {{ fix = "LEVEL" }}, {{ vary = ["A", "B"] }} or '
                '{ randomise = "100%" }.',
            )
        (treatment, wanted), *_ = given.items()
        if treatment not in TREATMENTS:
            raise InputError(
                f'unknown treatment "{treatment}" of factor "{name}"',
                where=where,
                remedy=suggest_name(treatment, TREATMENTS),
            )
        return reader.read_choice("nuisance", name, treatment, wanted)

    def find_policy() -> Treatment | None:
        policy = take_typed(given_table, "policy", str, "", source, "nuisance")
        known = next((item for item in TREATMENTS if item == policy), None)
        if policy and known is None:
            raise InputError(
                f'unknown policy "{policy}"',
                where=source.locate("nuisance", "policy"),
                remedy=suggest_name(policy, TREATMENTS),
            )
        return known

    mistakes = Mistakes()
    known = mistakes.attempt(find_policy, None)
    read_choices = [mistakes.attempt(partial(read, name, given), None) for name, given in table.items()]
    mistakes.refuse()
    choices = [choice for choice in read_choices if choice is not None]
    if known is not None:
        for name, treatments in USUAL_FACTORS.items():
            # A screening varies them anyway, each at the two levels that suit it.
            if name not in crossed and name not in table and not (screening and known == "vary"):
                choices.append(reader.read_choice("nuisance", name, known, treatments[known], by_policy=True))
    if screening:
        named = crossed.union(choice.name for choice in choices)
        choices += [
            FactorChoice(
                factor.name, factor.screening, by_policy=True, where=source.locate("experiment", "design")
            )
            for factor in FACTORS.values()
            if factor.screening and factor.name not in named
        ]
    return tuple(choices)


@dataclass(frozen=True)
class _Reader:
    """Reads choices of levels; with `with_user_factors` unknown names may be those of user factors."""

    source: Source
    loads: tuple[Package, ...]
    with_user_factors: bool

    @cached_property
    def _load_names(self) -> dict[str, None]:
        return dict.fromkeys(load.name for load in self.loads)

    def read_choice(
        self, section: str, name: str, treatment: Treatment, wanted: object, *, by_policy: bool = False
    ) -> FactorChoice:
        """Return the choice of one factor."""
        where = self.source.locate(section, "policy" if by_policy else name)
        factor = self._find_factor(name, where)
        choice = FactorChoice(name, treatment=treatment, by_policy=by_policy, where=where)
        if treatment == "fix":
            if isinstance(wanted, (list, dict)):
                raise InputError(
                    f'factor "{name}" can be fixed at one level only',
                    where=where,
                    remedy="Name one, or vary or randomise it.",
                )
            return replace(choice, levels=(self._read_level(factor, wanted, where),))
        if isinstance(wanted, str):
            if len(wanted) <= LONGEST_QUANTITY and (match := _PERCENTAGE.fullmatch(wanted)):
                coverage = float(match[1]) / 100
                if coverage > 1:
                    raise InputError("coverage cannot exceed 100%", where=where, remedy='Write, say, "75%".')
                return replace(choice, coverage=coverage)
            if treatment == "randomise" and ".." in wanted:
                span = read_range(wanted, factor.others)
                if span is None:
                    raise _refuse_range(factor, wanted, where)
                return replace(choice, span=span)
        listed = wanted if isinstance(wanted, list) else [wanted]
        if not listed:
            raise InputError(
                f'factor "{name}" has no levels',
                where=where,
                remedy='Name some, or write a share such as "100%".',
            )
        mistakes = Mistakes()
        levels = tuple(
            mistakes.attempt(partial(self._read_level, factor, level, where), "") for level in listed
        )
        mistakes.refuse()
        repeated = next((level for level, count in Counter(levels).items() if count > 1), None)
        if repeated is not None:
            raise InputError(f'level "{repeated}" of factor "{name}" is named twice', where=where)
        if treatment == "randomise" and len(levels) == 1 and levels[0] not in factor.drawn:
            raise InputError(
                f'factor "{name}" has one level only: there is nothing to draw',
                where=where,
                remedy='Name several, write "100%" for all that there are, or fix it.',
            )
        return replace(choice, levels=levels)

    def _find_factor(self, name: str, where: str) -> Factor:
        if name in FACTORS:
            return FACTORS[name]
        if not self.with_user_factors or not IDENTIFIER.fullmatch(name):
            raise InputError(f'unknown factor "{name}"', where=where, remedy=suggest_name(name, FACTORS))
        others = (FreeText("any text"), WholeNumber(-(1 << 53), 1 << 53, ""))
        return Factor(name, "host", (), "", "", "", "", others=others)

    def _read_level(self, factor: Factor, level: object, where: str) -> str:
        if isinstance(level, bool):
            level = "on" if level else "off"
        text = str(level) if isinstance(level, (str, int)) else spell_value(level)
        found = factor.read_level(text) if isinstance(level, (str, int)) else None
        if found is None:
            raise _refuse_level(factor, text, where)
        if factor.name == BACKGROUND_LOAD and found != NO_LOAD and found not in self._load_names:
            raise InputError(
                f'no [[load]] is called "{found}"',
                where=where,
                remedy=suggest_name(found, (NO_LOAD, *self._load_names))
                if self.loads
                else "Add [[load]] with name and path.",
            )
        return found


def _refuse_range(factor: Factor, text: str, where: str) -> InputError:
    problem = f'"{text}" is not a range of levels of factor "{factor.name}"'
    numbers = [item for item in factor.others if isinstance(item, WholeNumber) and not item.prefix]
    if not numbers:
        return InputError(
            f"{problem}: its levels are not numbers",
            where=where,
            remedy='Write a list of levels, or "100%" for all that there are.',
        )
    ends = split_range(text)
    if ends is None:
        return InputError(
            f"{problem}: its ends must be whole numbers without a unit",
            where=where,
            remedy=f'Write, say, "{numbers[0].low}..{numbers[0].low + 100}".',
        )
    low, high = ends
    if low > high:
        return InputError(
            f"{problem}: it ends before it begins", where=where, remedy=f'Write "{high}..{low}".'
        )
    return InputError(
        f"{problem}: it leaves what they can be", where=where, remedy=f"They can be {numbers[0].words}."
    )


def _refuse_level(factor: Factor, text: str, where: str) -> InputError:
    numbers = [item for item in factor.others if isinstance(item, WholeNumber) and not item.prefix]
    if numbers and all(level.isdecimal() for level in factor.levels):
        kind = f"a whole number of {numbers[0].unit}" if numbers[0].unit else "a whole number"
        is_number = re.fullmatch(r"-?[0-9]+" if numbers[0].low < 0 else r"[0-9]+", text)
        problem = "is out of range" if is_number else f"is not {kind}"
        spelled = text if is_number else f'"{text}"'
        return InputError(
            f'level {spelled} of factor "{factor.name}" {problem}',
            where=where,
            remedy=f"It can be {numbers[0].words}.",
        )
    nearest = suggest_name(text, factor.levels) if factor.levels else ""
    words = f"It can be {factor.describe_levels()}."
    return InputError(
        f'unknown level "{text}" of factor "{factor.name}"',
        where=where,
        remedy=f"{nearest} {words}".strip()
        if nearest.startswith("Did") and factor.others
        else nearest
        if nearest.startswith("Did")
        else words,
    )


def _check_together(choices: tuple[FactorChoice, ...], loads: tuple[Package, ...], source: Source) -> None:
    """Refuse a session without a load, a load that nothing selects, and one that cannot be told from none."""
    if any(item.name == NO_LOAD for item in loads):
        raise InputError(
            f'"{NO_LOAD}" is the level without a load and cannot name one',
            where=source.locate("load"),
            remedy="Give the load another name.",
        )
    load = next((choice for choice in choices if choice.name == BACKGROUND_LOAD), None)
    selected = load is not None and (load.coverage is not None or set(load.levels) != {NO_LOAD})
    for choice in choices:
        if choice.name == "session" and not selected:
            raise InputError(
                "session says whose session the background load is in, and there is no background load",
                where=choice.where,
                remedy="Add a [[load]] and name it under background_load, or leave session out.",
            )
    named = frozenset(load.levels) if load is not None else frozenset()
    unused = [item.name for item in loads if load is None or (named and item.name not in named)]
    if unused:
        raise InputError(
            f'nothing selects the load "{unused[0]}"',
            where=source.locate("load"),
            remedy=f"Name it as a level of {BACKGROUND_LOAD} in [factors] or [nuisance], or remove it.",
        )
