"""Levels that are quantities: numbers, alone or all with units of one kind, such as `25MB` and `1GB`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ%/]*)\s*")
_SIZES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
          "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}  # fmt: skip
_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_CLOCKS = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
_KINDS: tuple[Mapping[str, float], ...] = (_SIZES, _TIMES, _CLOCKS)


@dataclass(frozen=True, slots=True)
class NumericLevels:
    """A factor whose levels are numbers: `values` by label, in `unit` of the smallest level.

    `units` are the units that a level may be given in, and how many of `unit` each of them is; a factor of
    plain numbers has the unit "" alone.
    """

    factor: str
    values: Mapping[str, float]
    unit: str
    units: Mapping[str, float]

    @property
    def low(self) -> float:
        """The smallest level."""
        return min(self.values.values())

    @property
    def high(self) -> float:
        """The largest level."""
        return max(self.values.values())

    def read(self, text: str) -> float:
        """The number that a level is, in the factor's unit.

        Raises:
            InputError: it is not a number in one of the units.
        """
        match = _QUANTITY.fullmatch(text)
        if match is None or match[2] not in self.units or not math.isfinite(float(match[1])):
            near = f"a number with a unit, such as {self.show(self.low)}" if self.unit else "a plain number"
            raise InputError(
                f'"{text}" is not a level of {self.factor}, whose levels are numbers', remedy=f"Give {near}."
            )
        return float(match[1]) * self.units[match[2]]

    def show(self, value: float) -> str:
        """A level as it is written, such as `25MB`."""
        return f"{format_given(value)}{self.unit}"


def read_numeric_levels(factor: str, labels: Sequence[str]) -> NumericLevels | None:
    """The levels of a factor as numbers; None where some is not a number, or units are of several kinds."""
    found = {label: _QUANTITY.fullmatch(label) for label in labels}
    if len(found) < 2 or not all(found.values()):
        return None
    split = {label: (float(match[1]), match[2]) for label, match in found.items() if match is not None}
    suffixes = {unit for _, unit in split.values()}
    units: Mapping[str, float] = dict.fromkeys(suffixes, 1.0)
    if suffixes != {""}:
        kind = next((kind for kind in _KINDS if suffixes <= kind.keys()), None)
        if kind is None and len(suffixes) > 1:
            return None
        units = kind if kind is not None else units
    smallest = min(split.values(), key=lambda item: item[0] * units[item[1]])[1]
    relative = {name: size / units[smallest] for name, size in units.items()}
    values = {label: number * relative[unit] for label, (number, unit) in split.items()}
    finite = all(map(math.isfinite, values.values()))
    if not finite or len(set(values.values())) < len(values):
        return None
    return NumericLevels(factor, values, smallest, relative)
