"""Values with their units as people read them: the prefix, the power of ten, the interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_figures,
    format_fixed,
    format_level,
    format_share,
    format_signed,
    format_to_error,
    is_beyond_decimals,
)
from datamill.experiment.units import spell_unit

_SI_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SI_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
#: Units that SI prefixes may scale, and their size in the unit that takes the prefix.
_SCALABLE = {
    "s": ("s", 1.0), "ms": ("s", 1e-3), "us": ("s", 1e-6), "µs": ("s", 1e-6), "ns": ("s", 1e-9),
    "B": ("B", 1.0), "kB": ("B", 1e3), "MB": ("B", 1e6), "GB": ("B", 1e9), "TB": ("B", 1e12),
    "bit": ("bit", 1.0), "kbit": ("bit", 1e3), "Mbit": ("bit", 1e6), "Gbit": ("bit", 1e9),
    "Hz": ("Hz", 1.0), "kHz": ("Hz", 1e3), "MHz": ("Hz", 1e6), "GHz": ("Hz", 1e9),
    "W": ("W", 1.0), "mW": ("W", 1e-3), "J": ("J", 1.0), "mJ": ("J", 1e-3),
}  # fmt: skip
#: What takes the place of a prefix where the unit has none.
_WORDS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
#: Share of the middle below which effects choose the scale of a model.
_TINY_EFFECT = 1e-5
#: What is below this in its scale gets a power of ten.
_SMALLEST_SHOWN = 1e-6
_NO_LARGE_PREFIX = {"s"}
_NO_SMALL_PREFIX = {"B", "bit"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How a response is shown: values are multiplied by `factor` and carry `unit`."""

    factor: float
    unit: str


def choose_scale(unit: str, magnitude: float) -> Scale:
    """Scale for values of this magnitude: 12345678 B/s become 12.3 MB/s, 7e6 {ops} 7 million ops."""
    # Braces tell a unit of one's own to the experiment file; a reader needs none.
    unit = spell_unit(unit)
    head, slash, below = unit.partition("/")
    shown = "" if unit in ("1", "count") else unit
    if magnitude == 0 or not math.isfinite(magnitude):
        return Scale(1.0, shown)
    if head not in _SCALABLE:
        step, word = next(((step, word) for step, word in _WORDS if abs(magnitude) >= step), (1.0, ""))
        return Scale(1 / step, f"{word} {shown}".strip())
    base, size = _SCALABLE[head]
    value = abs(magnitude) * size
    prefixes = (() if base in _NO_LARGE_PREFIX else _SI_LARGE) + (
        _SI_SMALL[:1] if base in _NO_SMALL_PREFIX else _SI_SMALL
    )
    step, prefix = next((pair for pair in prefixes if value >= pair[0] * (1 - 1e-12)), prefixes[-1])
    return Scale(size / step, f"{prefix}{base}{slash}{below}")


def scale_by_power(unit: str, magnitude: float) -> Scale:
    """Scale with a power of ten before the unit, for positive magnitudes that no prefix or word suits."""
    power = math.floor(math.log10(magnitude))
    return Scale(10.0**-power, f"× 1e{power} {unit}".strip())


def choose_effect_scale(unit: str, middle: float, effects: Sequence[float]) -> Scale:
    """Scale for a model, from what its effects act about (the mean, an intercept) and from these.

    Where effects are tiny beside the middle, that of the largest effect; a power of ten where
    neither a prefix nor decimals could show it.
    """
    largest = max((abs(effect) for effect in effects), default=0.0)
    told = largest if 0 < largest < _TINY_EFFECT * abs(middle) else max(largest, abs(middle))
    scale = choose_scale(unit, told)
    return scale_by_power(unit, told) if 0 < told * scale.factor < _SMALLEST_SHOWN else scale


class Bounded(Protocol):
    """An estimate with the ends of its interval, as several records have them."""

    @property
    def estimate(self) -> float:
        """What was estimated."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


@dataclass(frozen=True, slots=True)
class RoundedInterval:
    """An estimate and the ends of its interval as text, all rounded alike."""

    estimate: str
    low: str
    high: str

    @property
    def ends(self) -> str:
        """The interval alone, such as `12.20 to 12.48`."""
        return f"{self.low} to {self.high}"

    def phrase(self, unit: str = "", level: str = "") -> str:
        """The estimate with its unit and, in brackets, the interval; `level` names the level of this."""
        return f"{self.estimate}{unit} ({f'{level} interval ' if level else ''}{self.ends})"


def round_interval(
    value: Bounded,
    factor: float = 1.0,
    *,
    error: float | None = None,
    decimals: int | None = None,
    least: int = 0,
    signed: bool = False,
    unit: str = "",
    unbounded: str = "",
) -> RoundedInterval:
    """Write an estimate and its interval with two figures of the error, which is half the interval's width.

    `factor` scales all three. Another `error` may be given, or the number of `decimals`; `least` of them are
    shown where the error is larger. `signed` puts a plus before what is above zero; `unit` stands behind each
    number; `unbounded` in the place of an end that is infinite.
    """
    shown = (value.estimate * factor, value.low * factor, value.high * factor)
    reach = (shown[2] - shown[1]) / 2 if error is None else error
    places = max(least, count_decimals(reach)) if decimals is None else decimals

    def write(number: float) -> str:
        if unbounded and math.isinf(number):
            return unbounded
        if decimals is None and is_beyond_decimals(reach):
            return f"{format_to_error(number, reach, signed=signed)}{unit}"
        return f"{(format_signed if signed else format_fixed)(number, places)}{unit}"

    return RoundedInterval(*(write(number) for number in shown))


def round_to_figures(value: Bounded, figures: int = 3, *, unit: str = "") -> RoundedInterval:
    """Write an estimate and its interval with so many figures of each, where these are of unlike size."""
    ends = (value.estimate, value.low, value.high)
    return RoundedInterval(*(f"{format_figures(number, figures)}{unit}" for number in ends))


def round_shares(value: Bounded) -> RoundedInterval:
    """Write a share and its interval in percent, as `format_share` does."""
    return RoundedInterval(*(format_share(number) for number in (value.estimate, value.low, value.high)))


def format_interval(value: Interval, scale: Scale, confidence: float, *, signed: bool = False) -> str:
    """An estimate with unit and interval, such as `12.34 MB/s (95% interval 12.20 to 12.48)`."""
    # A percentage of something, such as "% of its machine's mean", stands at its number as others do.
    unit = "" if not scale.unit else scale.unit if scale.unit.startswith("%") else f" {scale.unit}"
    return round_interval(value, scale.factor, signed=signed).phrase(unit, format_level(confidence))


def format_percent(value: Interval, confidence: float, *, signed: bool = False) -> str:
    """A percentage with its interval, such as `+2.3% (95% interval +1.9% to +2.7%)`."""
    return round_interval(value, signed=signed, unit="%").phrase(level=format_level(confidence))
