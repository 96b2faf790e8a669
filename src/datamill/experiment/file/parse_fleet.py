"""From what an experiment file says of machines: `[constraints]`, `[coverage]`, `[fleet]`, and `quiet`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, get_args

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import (
    BuildPlace,
    Constraints,
    FleetChoice,
    HardwareCoverage,
    HardwareDimension,
    QuietChoice,
    QuietMoment,
)
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.fields import check_one_of, check_within, spell_value, take_table, take_typed
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import (
    LONGEST_QUANTITY,
    parse_clock,
    parse_duration,
    parse_share,
    parse_size,
)
from datamill.protocol.api.submissions import DebugPolicy, RebootPolicy

HARDWARE_DIMENSIONS: tuple[HardwareDimension, ...] = get_args(HardwareDimension)
_PERCENTAGE = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*%\s*")
#: Texts of one constraint, and characters of each: a pattern is compiled, and each machine is compared.
_MOST_TEXTS, _LONGEST_TEXT = 1000, 200
_EXAMPLES = {
    "arch": '["x86_64", "aarch64"]',
    "cpu_model": '["*Xeon*", "Cortex-A72"]',
    "distribution": '["debian 12", "ubuntu*"]',
    "workers": '["lab-1", "lab-2"]',
}


def parse_constraints(tables: Mapping[str, Any], source: Source) -> Constraints:
    """Return which machines may run the experiment.

    Raises:
        InputError: for an unknown key or a value that cannot be, with the line.
    """
    table = take_table(tables, "constraints", source)
    mistakes = Mistakes()
    attempt = mistakes.attempt
    known = (*_EXAMPLES, "min_memory", "min_cores", "min_clock", "counters")
    attempt(lambda: source.check_keys(table, known, "constraints"), None)

    def texts(key: str) -> tuple[str, ...]:
        given = table.get(key, [])
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, list) or not all(isinstance(text, str) and text for text in listed):
            raise InputError(
                f"{key} must be a text or a list of texts, not {spell_value(given)}",
                where=source.locate("constraints", key),
                remedy=f"Write, say, {key} = {_EXAMPLES[key]}.",
            )
        if len(listed) > _MOST_TEXTS or any(len(text) > _LONGEST_TEXT for text in listed):
            raise InputError(
                f"{key} takes {_MOST_TEXTS} texts of {_LONGEST_TEXT} characters at most",
                where=source.locate("constraints", key),
                remedy="Write a pattern such as *Xeon* for several.",
            )
        return tuple(dict.fromkeys(listed))

    def count_cores() -> int:
        cores = take_typed(table, "min_cores", int, 0, source, "constraints")
        return check_within(cores, 0, 1 << 20, source, "constraints", "min_cores")

    def measure(key: str, parse: Callable[..., int]) -> int:
        where = source.locate("constraints", key)
        return attempt(lambda: parse(table[key], where=where), 0) if key in table else 0

    constraints = Constraints(
        arch=attempt(lambda: texts("arch"), ()),
        min_memory_bytes=measure("min_memory", parse_size),
        min_cores=attempt(count_cores, 0),
        min_clock_khz=measure("min_clock", parse_clock),
        cpu_model=attempt(lambda: texts("cpu_model"), ()),
        distribution=attempt(lambda: texts("distribution"), ()),
        counters=attempt(lambda: take_typed(table, "counters", bool, False, source, "constraints"), False),
        workers=attempt(lambda: texts("workers"), ()),
    )
    mistakes.refuse()
    return constraints


def parse_coverage(tables: Mapping[str, Any], source: Source) -> tuple[HardwareCoverage, ...]:
    """Return how many levels of which hardware dimensions the machines of a fleet must have.

    Raises:
        InputError: for an unknown dimension, or what is neither a percentage nor a whole number above 0.
    """
    mistakes = Mistakes()
    read = [
        mistakes.attempt(partial(_read_coverage, name, given, source), None)
        for name, given in take_table(tables, "coverage", source).items()
    ]
    mistakes.refuse()
    return tuple(item for item in read if item is not None)


def _read_coverage(name: str, given: object, source: Source) -> HardwareCoverage:
    where = source.locate("coverage", name)
    dimension = next((item for item in HARDWARE_DIMENSIONS if item == name), None)
    if dimension is None:
        if name in FACTORS:
            raise InputError(
                f'"{name}" is set by datamill, and [coverage] is about machines',
                where=where,
                remedy=f'Write {name} = "75%" under [factors].',
            )
        raise InputError(
            f'unknown dimension of hardware "{name}"',
            where=where,
            remedy=suggest_name(name, HARDWARE_DIMENSIONS),
        )
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 1:
            raise InputError(
                f"{name} must be at least 1, not {given}",
                where=where,
                remedy='Write "0%" for one level at random, or leave it out.',
            )
        return HardwareCoverage(dimension, count=given, where=where)
    short = isinstance(given, str) and len(given) <= LONGEST_QUANTITY
    match = _PERCENTAGE.fullmatch(str(given)) if short else None
    if match is None:
        raise InputError(
            f"{spell_value(given)} is not a coverage",
            where=where,
            remedy=f'Write {name} = "75%" for a share of all levels, or {name} = 2 for a number of them.',
        )
    # Decimal: the nearest fraction to 14.1%, not what dividing 14.1 by 100 makes of it.
    share = float(Decimal(match[1]) / 100)
    if share > 1:
        raise InputError("coverage cannot exceed 100%", where=where, remedy='Write, say, "75%".')
    return HardwareCoverage(dimension, share=share, where=where)


def parse_fleet_choice(tables: Mapping[str, Any], source: Source) -> FleetChoice:
    """Return how the experiment runs on a fleet.

    Raises:
        InputError: for an unknown key or a value that cannot be, with the line.
    """
    table = take_table(tables, "fleet", source)
    usual = FleetChoice()
    mistakes = Mistakes()
    mistakes.attempt(lambda: source.check_keys(table, tuple(FleetChoice.__dataclass_fields__), "fleet"), None)

    def word(key: str, default: str, known: tuple[str, ...]) -> Any:
        def read() -> str:
            given = take_typed(table, key, str, default, source, "fleet")
            return check_one_of(given, known, source, "fleet", key)

        return mistakes.attempt(read, default)

    def number(key: str, default: int, low: int, high: int) -> int:
        def read() -> int:
            given = take_typed(table, key, int, default, source, "fleet")
            return check_within(given, low, high, source, "fleet", key)

        return mistakes.attempt(read, default)

    choice = FleetChoice(
        reboot=word("reboot", usual.reboot, get_args(RebootPolicy)),
        block_trials=number("block_trials", usual.block_trials, 1, 1_000_000),
        redundancy=number("redundancy", usual.redundancy, 0, 1_000),
        debug=word("debug", usual.debug, get_args(DebugPolicy)),
        build_on=word("build_on", usual.build_on, get_args(BuildPlace)),
        public=mistakes.attempt(
            lambda: take_typed(table, "public", bool, usual.public, source, "fleet"), usual.public
        ),
        most_attempts=number("most_attempts", usual.most_attempts, 1, 100),
        priority=mistakes.attempt(
            lambda: _read_priority(table.get("priority", usual.priority), source), usual.priority
        ),
        profile=mistakes.attempt(
            lambda: take_typed(table, "profile", bool, usual.profile, source, "fleet"), usual.profile
        ),
    )
    mistakes.refuse()
    return choice


def _read_priority(given: object, source: Source) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0.1 <= given <= 10:
        raise InputError(
            f"{spell_value(given)} is not a priority",
            where=source.locate("fleet", "priority"),
            remedy="Write a number from 0.1 to 10; 1 is the usual one. It divides what is yours alone.",
        )
    return float(given)


def parse_quiet(head: Mapping[str, Any], source: Source) -> QuietChoice:
    """Return before which trials a worker waits for a quiet machine, as `quiet` in `[experiment]` says.

    It is one word, or a table of the rule, which then counts for every trial unless `when` says otherwise.

    Raises:
        InputError: for an unknown word or key, and for a value that cannot be, with the line.
    """
    given = head.get("quiet", "after_reboot")
    where, moments = source.locate("experiment", "quiet"), get_args(QuietMoment)
    if isinstance(given, str):
        word: Any = check_one_of(given, moments, source, "experiment", "quiet")
        return QuietChoice(word)
    if not isinstance(given, dict):
        raise InputError(
            f"quiet must be a word or a table, not {spell_value(given)}",
            where=where,
            remedy='Write, say, quiet = "always" or quiet = {limit = "1 min", processors = 0.1}.',
        )
    mistakes = Mistakes()
    known = ("when", "window", "limit", "processors", "pressure", "disk")
    for key in given:
        if key not in known:
            unknown = InputError(f'unknown key "{key}"', where=where, remedy=suggest_name(key, known))
            mistakes.attempt(partial(_refuse, unknown), None)

    def read(key: str, low: float, high: float, read_value: Callable[..., float], unit: str) -> float:
        value = read_value(given[key], where=where)
        if not low <= value <= high:
            raise InputError(
                f"{key} must be from {format_given(low)} to {format_given(high)}{unit}, "
                f"not {format_given(value)}",
                where=where,
            )
        return value

    def count(value: object, *, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"processors must be a number, not {spell_value(value)}", where=where)
        return float(value)

    ranges: tuple[tuple[str, str, float, float, Callable[..., float], str], ...] = (
        ("window", "window_s", 0.1, 60.0, parse_duration, " s"),
        ("limit", "limit_s", 0.1, 3600.0, parse_duration, " s"),
        ("processors", "processors", 0.001, 1e6, count, ""),
        ("pressure", "pressure", 0.0001, 1.0, parse_share, ""),
        ("disk", "disk", 0.0001, 1.0, parse_share, ""),
    )
    when: Any = mistakes.attempt(
        lambda: check_one_of(
            take_typed(given, "when", str, "always", source, "experiment"),
            moments,
            source,
            "experiment",
            "quiet",
        ),
        "always",
    )
    values = {
        field: mistakes.attempt(partial(read, key, low, high, reads, unit), low)
        for key, field, low, high, reads, unit in ranges
        if key in given
    }
    mistakes.refuse()
    choice = QuietChoice(when, **values)
    if choice.window_s > choice.limit_s:
        raise InputError(
            f"no window of {format_given(choice.window_s)} s fits into a limit of "
            f"{format_given(choice.limit_s)} s",
            where=where,
            remedy="Give a longer limit or a shorter window.",
        )
    return choice


def _refuse(error: InputError) -> None:
    raise error
