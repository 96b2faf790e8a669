"""Sizes and durations as people write them."""

from __future__ import annotations

import re

from datamill.experiment.errors import InputError

_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # fmt: skip
_DURATIONS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_CLOCKS = {"Hz": 1e-3, "kHz": 1.0, "MHz": 1e3, "GHz": 1e6}
_SHARE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*")
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
#: Longest text that is looked at as a quantity; these expressions take time with the square of it.
LONGEST_QUANTITY = 64
#: Largest size, in bytes, and clock, in kHz: whole numbers that JSON readers everywhere keep exactly.
_LARGEST = (1 << 53) - 1
#: Longest duration: thirty years.
_LONGEST_S = 30 * 365.25 * 86400


def parse_size(value: object, *, where: str) -> int:
    """Return bytes from a whole number of bytes or a text such as `2GiB`.

    Raises:
        InputError: when it is neither, or is negative.
    """
    number, unit = _split_quantity(value, "a size", '"2GiB"', where)
    factor = _SIZES.get(unit or "B")
    if factor is None:
        raise InputError(f'unknown unit of size "{unit}"', where=where, remedy=f"Units: {', '.join(_SIZES)}.")
    return _round(number * factor, "a size", format_size(_LARGEST), where)


def parse_duration(value: object, *, where: str) -> float:
    """Return seconds from a number of seconds or a text such as `10min`.

    Raises:
        InputError: when it is neither, or is not above zero.
    """
    number, unit = _split_quantity(value, "a duration", '"10min"', where)
    factor = _DURATIONS.get(unit or "s")
    if factor is None:
        raise InputError(
            f'unknown unit of time "{unit}"', where=where, remedy=f"Units: {', '.join(_DURATIONS)}."
        )
    if number <= 0:
        raise InputError("a time limit must be above zero", where=where)
    if number * factor > _LONGEST_S:
        raise InputError("a time limit is thirty years at most", where=where)
    return number * factor


def parse_clock(value: object, *, where: str) -> int:
    """Return kilohertz from a text such as `2 GHz`; a number alone could be any unit's.

    Raises:
        InputError: when it is no such text.
    """
    number, unit = _split_quantity(value, "a clock", '"2 GHz"', where)
    factor = _CLOCKS.get(unit)
    if factor is None:
        raise InputError(
            f'unknown unit of clock "{unit}"' if unit else f"{_show(value)} does not say its unit",
            where=where,
            remedy=f"Units: {', '.join(_CLOCKS)}.",
        )
    return _round(number * factor, "a clock", format_clock(_LARGEST), where)


def parse_share(value: object, *, where: str) -> float:
    """Return a share, such as 0.01, from a number or a text such as `1%`.

    Raises:
        InputError: when it is neither, or does not lie between 0 and 1.
    """
    share = 0.0
    if isinstance(value, str) and len(value) <= LONGEST_QUANTITY and (match := _SHARE.fullmatch(value)):
        share = float(match[1]) / (100 if match[2] else 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        share = float(value)
    if not 0 < share < 1:
        raise InputError(
            f"{_show(value)} is not a share between 0 and 100%",
            where=where,
            remedy='Write a percentage such as "1%", or a fraction such as 0.01.',
        )
    return share


def _split_quantity(value: object, kind: str, example: str, where: str) -> tuple[float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return float(value), ""
    short = isinstance(value, str) and len(value) <= LONGEST_QUANTITY
    match = _QUANTITY.fullmatch(str(value)) if short else None
    if match is None:
        raise InputError(
            f"{_show(value)} is not {kind}",
            where=where,
            remedy=f"Write a number or a text such as {example}.",
        )
    return float(match[1]), match[2]


def _round(number: float, kind: str, most: str, where: str) -> int:
    """Return a whole number, unless it is larger than any machine's."""
    if number > _LARGEST:
        raise InputError(f"{kind} is {most} at most", where=where)
    return round(number)


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 2 * LONGEST_QUANTITY else f"{text[:LONGEST_QUANTITY]}…"


def format_duration(seconds: float) -> str:
    """Return a duration in the two largest fitting units, such as `4 min 10 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for index, (name, size) in enumerate(units):
        if whole >= size:
            text = f"{whole // size} {name}"
            rest = whole % size
            if index + 1 < len(units):
                small_name, small_size = units[index + 1]
                if rest // small_size:
                    text += f" {rest // small_size} {small_name}"
            return text
    return "0 s"


def format_size(size_bytes: float) -> str:
    """Return a size in binary units, such as `2.0 GiB`."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def format_clock(clock_khz: float) -> str:
    """Return a clock in GHz, such as `2.4 GHz`."""
    return f"{clock_khz / 1e6:.4g} GHz"


def round_memory(size_bytes: int) -> str:
    """Return a machine's memory up to an eighth of a power of two, such as `16 GiB`; empty below 1 MiB.

    Machines of 16 GiB keep some for themselves, and say that they have 15.4.
    """
    mebi = 1 << 20
    if size_bytes < mebi:
        return ""
    step = max(mebi, (1 << (size_bytes.bit_length() - 1)) >> 3)
    rounded = -(-size_bytes // step) * step
    return f"{rounded / (1 << 30):g} GiB" if rounded >= 1 << 30 else f"{rounded / mebi:g} MiB"
