"""Arguments of the verbs as Python gives them: checked once, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from inspect import signature
from numbers import Real
from operator import index
from typing import Any

import polars as pl

from datamill.experiment.errors import InputError

#: Draws that resampling needs at least, and observations of a window.
FEWEST_REPLICATES, SHORTEST_WINDOW = 99, 3
#: Kernels take seeds of 64 bits.
_LARGEST = 2**63 - 1


def refuse_unknown(verb: Callable[..., object], given: Mapping[str, object], known: Iterable[str]) -> None:
    """Refuse keywords that neither the verb's signature nor `known` names.

    Raises:
        InputError: there is one; names the nearest known one.
    """
    own = [
        name
        for name, parameter in signature(verb).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    names = [*known, *own]
    for name in given:
        if name in names:
            continue
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        raise InputError(
            f'{verb.__name__} has no argument "{name}"',
            remedy=f"{f'Did you mean {near[0]}? ' if near else ''}The arguments are: {', '.join(names)}.",
        )


def take_confidence(given: object) -> float | None:
    """A level of confidence between 0.5 and 1; None stays None, and means the usual one.

    Raises:
        InputError: it is not one.
    """
    if given is None:
        return None
    value = _take_number(given)
    if value is None or not 0.5 < value < 1:
        remedy = "Give a number between 0.5 and 1, such as 0.95."
        if value is not None and 50 < value < 100:
            remedy = f"Give a fraction: {value / 100:g}."
        raise InputError(f"confidence is {given!r}, not a level between 0.5 and 1", remedy=remedy)
    return value


def take_alpha(given: object) -> float:
    """A level of significance above 0 and up to 0.5.

    Raises:
        InputError: it is not one.
    """
    value = _take_number(given)
    if value is None or not 0 < value <= 0.5:
        raise InputError(
            f"alpha is {given!r}, not a level between 0 and 0.5", remedy="Give a number such as 0.05."
        )
    return value


def take_whole(name: str, given: object, least: int) -> int | None:
    """A whole number of at least `least`; None stays None.

    Raises:
        InputError: it is not one.
    """
    if given is None:
        return None
    try:
        value = None if isinstance(given, bool) else index(given)  # type: ignore[arg-type]
    except TypeError:
        value = None
    if value is None or not least <= value <= _LARGEST:
        raise InputError(
            f"{name} is {given!r}, not a whole number from {least}", remedy=f"Give one, such as {least or 1}."
        )
    return value


def take_seed(given: object) -> int:
    """The seed of whatever is drawn at random: a whole number from 0.

    Raises:
        InputError: it is not one.
    """
    seed = take_whole("seed", given, 0)
    if seed is None:
        raise InputError("seed is None, not a whole number from 0", remedy="Leave it out, or give one.")
    return seed


def check_choice(name: str, given: object, allowed: Iterable[str]) -> None:
    """Refuse what is none of the words allowed.

    Raises:
        InputError: names the words that are.
    """
    words = list(allowed)
    if not isinstance(given, str) or given not in words:
        near = get_close_matches(given, words, n=1, cutoff=0.5) if isinstance(given, str) else []
        raise InputError(
            f"{name} is {given!r}, which is not a choice",
            remedy=f"{f'Did you mean {near[0]}? ' if near else ''}Choose {' or '.join(words)}.",
        )


def take_quantiles(given: object) -> tuple[float, ...]:
    """Quantiles between 0 and 1: a list of them, or a single one.

    Raises:
        InputError: there is none, or one is not between 0 and 1.
    """
    if isinstance(given, Iterable) and not isinstance(given, str):
        wanted: list[Any] = list(given)
    else:
        wanted = [given]
    found = [_take_number(item) for item in wanted]
    bad = [item for item, value in zip(wanted, found, strict=True) if value is None or not 0 < value < 1]
    if bad or not found:
        raise InputError(
            f"the quantile {_spell(bad[0])} is not between 0 and 1" if bad else "no quantile is asked for",
            remedy="Write the 99th percentile as 0.99; 0 and 1 are the extremes, not quantiles."
            if bad
            else "Name at least one, such as 0.5.",
        )
    return tuple(value for value in found if value is not None)


def take_name(name: str, given: object) -> str:
    """A name of a column, or a formula; None is none.

    Raises:
        InputError: it is no text.
    """
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InputError(f"{name} is {given!r}, which is not a text", remedy="Give the name of a column.")
    return given


def take_names(name: str, given: object) -> tuple[str, ...]:
    """Names of columns: a list of them, or a single one.

    Raises:
        InputError: it is no list of texts.
    """
    if given is None:
        return ()
    wanted: list[object] = (
        list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    )
    if not all(isinstance(item, str) for item in wanted):
        raise InputError(f"{name} is {given!r}, not a list of names", remedy=f'Write {name}=["NAME", ...].')
    return tuple(str(item) for item in wanted)


def take_levels(name: str, given: object) -> dict[str, str]:
    """A level for each of some columns, as a table's columns spell it: `true` for True, `8` for 8.

    Raises:
        InputError: it is no mapping of names of columns to single levels.
    """
    if given is None:
        return {}
    levels = dict(given) if isinstance(given, Mapping) else None
    remedy = f'Write {name}={{"COLUMN": "LEVEL"}}, one level for each column.'
    if levels is None:
        raise InputError(f"{name} is {given!r}, not a level for each column", remedy=remedy)
    for column, level in levels.items():
        if not isinstance(column, str) or not isinstance(level, (str, Real)):
            raise InputError(
                f"{name} has {column!r}: {level!r}, which is not a level of a column", remedy=remedy
            )
    return {column: str(pl.Series([level]).cast(pl.String)[0]) for column, level in levels.items()}


def take_level_lists(name: str, given: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One level or several for each of some columns, spelled as `take_levels` does.

    Raises:
        InputError: it is not a mapping of names of columns to levels.
    """
    remedy = f'Write {name}={{"COLUMN": "LEVEL"}} or {name}={{"COLUMN": ["LEVEL", ...]}}.'
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {given!r}, not levels of columns", remedy=remedy)
    found = []
    for column, levels in given.items():
        listed = [levels] if isinstance(levels, (str, Real)) else levels
        if not isinstance(column, str) or not isinstance(listed, Iterable):
            raise InputError(f"{name} has {column!r}: {levels!r}, which is not a level", remedy=remedy)
        several = list(listed)
        if not several or not all(isinstance(level, (str, Real)) for level in several):
            raise InputError(f"{name} has {column!r}: {levels!r}, which is not a level", remedy=remedy)
        texts = tuple(str(pl.Series([level]).cast(pl.String)[0]) for level in several)
        found.append((column, tuple(dict.fromkeys(texts))))
    return tuple(found)


def _spell(given: object) -> str:
    number = _take_number(given)
    return repr(given) if number is None else f"{number:g}"


def _take_number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, Real):
        return None
    value = float(given)
    return value if math.isfinite(value) else None
