"""What the texts of levels can be: fixed ones, and patterns such as whole numbers or processor lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import LONGEST_QUANTITY, parse_size

#: Longest text of a level: it is a column of tables and a word of command lines.
LONGEST_LEVEL = 1000
_RANGE = re.compile(r"\s*(-?[0-9]{1,20})\s*\.\.\s*(-?[0-9]{1,20})\s*")


class LevelPattern(Protocol):
    """A pattern of texts that are levels of a factor beside its fixed ones."""

    @property
    def words(self) -> str:
        """What such a level can be, in words that follow "it can be"."""
        ...

    def read(self, text: str) -> str | None:
        """Return the level that a text means, in its one spelling; None when it is none."""
        ...


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number from `low` to `high`, with what stands before it, such as `random:`.

    With `zero`, 0 is a level as well. Bytes may be written with a unit, such as `8MiB`.
    """

    low: int
    high: int
    unit: str
    prefix: str = ""
    zero: bool = False

    @property
    def words(self) -> str:
        """The range in words."""
        number = f"{self.low} to {self.high} {self.unit}".rstrip()
        if self.prefix:
            return f"{self.prefix}N with N from {number}"
        return f"{'0, or ' if self.zero else ''}from {number}"

    def holds(self, number: int) -> bool:
        """Whether a number is in the range."""
        return self.low <= number <= self.high or (self.zero and number == 0)

    def read(self, text: str) -> str | None:
        """Return the number without leading zeros or unit."""
        if not text.startswith(self.prefix):
            return None
        rest = text.removeprefix(self.prefix)
        if not rest.isascii():
            return None
        if rest.removeprefix("-" if self.low < 0 else "").isdecimal() and len(rest) < 20:
            number = int(rest)
        elif self.unit == "bytes" and re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?\s*[A-Za-z]+", rest):
            try:
                number = parse_size(rest, where="")
            except InputError:
                return None
        else:
            return None
        return f"{self.prefix}{number}" if self.holds(number) else None


@dataclass(frozen=True, slots=True)
class CpuList:
    """Processors as the kernel lists them, such as `0-1,3`."""

    @property
    def words(self) -> str:
        """An example of a list."""
        return "a list of processors such as 0-1,3"

    def read(self, text: str) -> str | None:
        """Return the list in ascending order, with ranges joined."""
        if len(text) > LONGEST_LEVEL:
            return None
        if not re.fullmatch(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*", text):
            return None
        ranges = []
        for part in text.split(","):
            first, _, last = part.partition("-")
            low, high = int(first), int(last or first)
            if high < low:
                return None
            ranges.append((low, high))
        return _join_ranges(sorted(ranges))


def _join_ranges(ranges: list[tuple[int, int]]) -> str:
    parts: list[list[int]] = []
    for low, high in ranges:
        if parts and low <= parts[-1][1] + 1:
            parts[-1][1] = max(high, parts[-1][1])
        else:
            parts.append([low, high])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler by family and version, such as `gcc-12`; GCC before 5 by two numbers."""

    @property
    def words(self) -> str:
        """Examples of compilers."""
        return "a compiler such as gcc-12 or clang-16"

    def read(self, text: str) -> str | None:
        """Return the compiler if it is written as one."""
        pattern = r"gcc-([5-9]|[1-9][0-9]{1,3}|[1-4]\.[0-9]{1,2})|clang-[1-9][0-9]{0,3}"
        return text if re.fullmatch(pattern, text) else None


@dataclass(frozen=True, slots=True)
class Name:
    """A name that only a host, or the experiment, knows."""

    words: str

    def read(self, text: str) -> str | None:
        """Return the name if it can be one."""
        return text if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}", text) else None


@dataclass(frozen=True, slots=True)
class FreeText:
    """Any text on one line."""

    words: str

    def read(self, text: str) -> str | None:
        """Return the text without space around it."""
        stripped = text.strip()
        fine = stripped and stripped.isprintable() and len(stripped) <= LONGEST_LEVEL
        return stripped if fine else None


@dataclass(frozen=True, slots=True)
class BootWords:
    """Parameters of a kernel's command line, such as `mitigations=off nosmt`; no quotes, and no `--`."""

    @property
    def words(self) -> str:
        """An example of parameters."""
        return 'parameters of the kernel such as "mitigations=off"'

    def read(self, text: str) -> str | None:
        """Return the parameters with one space between two."""
        words = text.split()
        pattern = r"(?!datamill\.)[A-Za-z0-9_][A-Za-z0-9_.,:;=/@+%*-]*"
        level = " ".join(words)
        fine = words and len(level) <= LONGEST_LEVEL and all(re.fullmatch(pattern, word) for word in words)
        return level if fine else None


@dataclass(frozen=True, slots=True)
class NumberRange:
    """All whole numbers of a pattern from `low` to `high`: what a level is drawn from."""

    low: int
    high: int
    zero: bool = False

    @property
    def text(self) -> str:
        """The range as an experiment file gives it."""
        return f"{0 if self.zero else self.low}..{self.high}"

    @property
    def size(self) -> int:
        """How many levels there are."""
        return self.high - self.low + 1 + self.zero

    def level(self, index: int) -> str:
        """Return the level at an index from 0, in ascending order."""
        if self.zero:
            return "0" if index == 0 else str(self.low + index - 1)
        return str(self.low + index)


def split_range(text: str) -> tuple[int, int] | None:
    """Return the two ends of a text such as `0..4096`; None when it is no range of whole numbers."""
    match = _RANGE.fullmatch(text) if len(text) <= LONGEST_QUANTITY else None
    return (int(match[1]), int(match[2])) if match else None


def read_range(text: str, patterns: tuple[LevelPattern, ...]) -> NumberRange | None:
    """Return the range that a text such as `0..4096` means, as far as a pattern allows its numbers.

    None when the text is no range, or the factor has no numbers between its ends.
    """
    ends = split_range(text)
    pattern = next((item for item in patterns if isinstance(item, WholeNumber) and not item.prefix), None)
    if ends is None or pattern is None:
        return None
    low, high = ends
    if low > high or not pattern.holds(low) or not pattern.holds(high):
        return None
    zero = pattern.zero and low == 0 and pattern.low > 0
    if zero and high == 0:
        return NumberRange(0, 0)
    return NumberRange(max(low, pattern.low), high, zero)
