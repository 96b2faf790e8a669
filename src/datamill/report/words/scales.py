"""Values with their units as people read them: the prefix, the power of ten, the interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import format_level, format_to_error
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


def format_interval(value: Interval, scale: Scale, confidence: float, *, signed: bool = False) -> str:
    """An estimate with unit and interval, such as `12.34 MB/s (95% interval 12.20 to 12.48)`."""
    error = (value.high - value.low) / 2 * scale.factor
    estimate, low, high = (
        format_to_error(number * scale.factor, error, signed=signed)
        for number in (value.estimate, value.low, value.high)
    )
    unit = f" {scale.unit}" if scale.unit else ""
    return f"{estimate}{unit} ({format_level(confidence)} interval {low} to {high})"


def format_percent(value: Interval, confidence: float, *, signed: bool = False) -> str:
    """A percentage with its interval, such as `+2.3% (95% interval +1.9% to +2.7%)`."""
    error = (value.high - value.low) / 2
    estimate, low, high = (
        f"{format_to_error(number, error, signed=signed)}%"
        for number in (value.estimate, value.low, value.high)
    )
    return f"{estimate} ({format_level(confidence)} interval {low} to {high})"
