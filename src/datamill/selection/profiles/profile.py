"""What a benchmark executed in one version of a program, function by function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from datamill.experiment.errors import InputError


class FunctionCounts(msgspec.Struct, frozen=True):
    """Calls, executed instructions and events of one function without its callees; None: not counted."""

    calls: int | None = None
    instructions: int | None = None
    events: Mapping[str, int] = {}


class Profile(msgspec.Struct, frozen=True):
    """Functions that a benchmark reached, by their names in the function table of the same version.

    `method` is what counted. A function that is not in it was not reached.
    """

    benchmark: str
    method: str
    functions: Mapping[str, FunctionCounts]

    @property
    def reached(self) -> frozenset[str]:
        """Names of functions that were executed."""
        return frozenset(self.functions)

    def rank(self, count: str) -> Ranking | None:
        """Rank the reached functions by `calls`, `instructions` or an event; None without such a count.

        Of m functions, one with `l` below it and `e` equal to it (itself included) has the rank
        100 (l + (e + 1) / 2) / m: the mean of the places that the equal ones share. The texts leave direction
        and ties open (thesis 2015, Table 6.2); high is hot here, as their thresholds suggest.
        """
        counts = {
            name: value
            for name, item in self.functions.items()
            if (value := _read_count(item, count)) is not None
        }
        if not counts:
            return None
        values = sorted(counts.values())
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for place, value in enumerate(values, start=1):
            first.setdefault(value, place)
            last[value] = place
        total = len(values)
        return Ranking({name: 50.0 * (first[value] + last[value]) / total for name, value in counts.items()})


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks of functions by one count: above 0 up to 100, the hottest highest; what was not reached has 0."""

    ranks: Mapping[str, float]

    def of(self, name: str) -> float:
        """Return a function's rank."""
        return self.ranks.get(name, 0.0)

    def hottest(self, count: int) -> tuple[str, ...]:
        """Return the names of the highest ranks; among equal ones the first in the alphabet."""
        ordered = sorted(self.ranks.items(), key=lambda item: (-item[1], item[0]))
        return tuple(name for name, _ in ordered[:count])


def _read_count(item: FunctionCounts, count: str) -> int | None:
    if count == "calls":
        return item.calls
    if count == "instructions":
        return item.instructions
    return item.events.get(count)


_DECODER = msgspec.json.Decoder(Profile)


def decode_profile(json: bytes, where: str) -> Profile:
    """Return the profile that JSON holds; `where` names it in errors.

    Raises:
        InputError: it is no profile.
    """
    try:
        return _DECODER.decode(json)
    except msgspec.MsgspecError as error:
        raise InputError(f"cannot be read as a profile: {error}", where=where) from error
