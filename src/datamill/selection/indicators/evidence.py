"""What indicators are computed from: a pair of versions and a profile of the old one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from datamill.selection.changes.table_changes import TableChanges
from datamill.selection.profiles.profile import Profile, Ranking
from datamill.selection.tables.function_table import Function

#: Functions that count as the hottest (thesis 2019, Table 1.3: "e.g. five most called").
HOTTEST = 5


@dataclass(frozen=True)
class Evidence:
    """Two versions compared, and what the benchmark executed in the old one."""

    changes: TableChanges
    profile: Profile

    @cached_property
    def changed(self) -> tuple[tuple[Function, Function], ...]:
        """Functions that both versions have and whose code differs by more than lines and names."""
        return tuple(
            (change.old, change.new)
            for change in self.changes.of_fate("changed")
            if change.old is not None and change.new is not None
        )

    @cached_property
    def deleted(self) -> tuple[Function, ...]:
        """Functions of the old version that the new one lacks."""
        return tuple(change.old for change in self.changes.of_fate("deleted") if change.old is not None)

    @cached_property
    def new(self) -> tuple[Function, ...]:
        """Functions that only the new version has."""
        return tuple(change.new for change in self.changes.of_fate("new") if change.new is not None)

    @cached_property
    def _rankings(self) -> dict[str, Ranking | None]:
        return {}

    def ranking(self, count: str) -> Ranking | None:
        """Return ranks by a count, None where the profile lacks it."""
        if count not in self._rankings:
            self._rankings[count] = self.profile.rank(count)
        return self._rankings[count]


@dataclass(frozen=True, slots=True)
class Reading:
    """An indicator's value for a pair of versions, and the functions behind it, the weightiest first."""

    value: float
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Indicator:
    """A number of which high values foretell a performance change.

    `measure` gives None where the profile lacks what it needs.
    """

    name: str
    summary: str
    measure: Callable[[Evidence], Reading | None]


def read_top(values: Iterable[tuple[str, float]]) -> Reading:
    """Return the largest value, 0 without any, and the functions with one above 0, the largest first."""
    ordered = sorted(
        ((value, name) for name, value in values if value > 0), key=lambda item: (-item[0], item[1])
    )
    return Reading(ordered[0][0] if ordered else 0.0, tuple(name for _, name in ordered))


def measure_length_change(old: Function, new: Function) -> float:
    """Return by how much the number of static instructions changed, in % of the old one, without its sign.

    From no instructions to some is 100%. The texts do not say whether shorter functions count: they do, since
    a speed-up is a change as well.
    """
    if old.instructions == 0:
        return 100.0 if new.instructions else 0.0
    return 100.0 * abs(new.instructions - old.instructions) / old.instructions


def rank_changed(evidence: Evidence, count: str, least_change: float = 0.0) -> Reading | None:
    """Return the highest rank by `count` of changed functions whose length changed by `least_change` %."""
    ranking = evidence.ranking(count)
    if ranking is None:
        return None
    return read_top(
        (old.name, ranking.of(old.name))
        for old, new in evidence.changed
        if measure_length_change(old, new) >= least_change
    )
