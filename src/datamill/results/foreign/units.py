"""Units of foreign files, brought to seconds and bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

#: Reported unit, the unit it is brought to, and the size of one: a power of ten, times a whole number.
_UNITS = {
    "s": ("s", 0, 1), "sec": ("s", 0, 1), "second": ("s", 0, 1), "seconds": ("s", 0, 1),
    "ms": ("s", -3, 1), "us": ("s", -6, 1), "µs": ("s", -6, 1), "μs": ("s", -6, 1), "ns": ("s", -9, 1),
    "ps": ("s", -12, 1), "min": ("s", 0, 60), "hr": ("s", 0, 3600), "h": ("s", 0, 3600),
    "day": ("s", 0, 86400),
    "B": ("B", 0, 1), "byte": ("B", 0, 1), "bytes": ("B", 0, 1),
    "kB": ("B", 3, 1), "MB": ("B", 6, 1), "GB": ("B", 9, 1), "TB": ("B", 12, 1),
    "KiB": ("B", 0, 2**10), "MiB": ("B", 0, 2**20), "GiB": ("B", 0, 2**30), "TiB": ("B", 0, 2**40),
    "integer": ("1", 0, 1),
}  # fmt: skip
_TIMES = {name for name, (base, _, _) in _UNITS.items() if base == "s"}


@dataclass(frozen=True, slots=True)
class Conversion:
    """How values of a unit are brought to `unit`: times 10 to the power of `shift`, times `factor`."""

    unit: str
    shift: int
    factor: float

    @property
    def is_none(self) -> bool:
        """Whether values stay as they are."""
        return self.shift == 0 and self.factor == 1

    def apply(self, value: float) -> float:
        """Convert a value; a power of ten moves the decimal point of the number as it is written."""
        if self.shift and math.isfinite(value):
            value = float(Decimal(repr(float(value))).scaleb(self.shift))
        return value * self.factor


@cache
def find_conversion(unit: str) -> Conversion:
    """Return how a unit such as `ns/op` or `MB/s` is brought to seconds and bytes; unknown parts stay."""
    head, slash, below = unit.partition("/")
    base, shift, factor = _UNITS.get(head, (head, 0, 1))
    if not slash:
        return Conversion(base, shift, factor)
    if below in _TIMES:
        below, shift_below, factor_below = _UNITS[below]
        return Conversion(f"{base}/{below}", shift - shift_below, factor / factor_below)
    return Conversion(f"{base}/{below}", shift, factor)
