"""All that was collected of a project, and the cases that predictors learn from."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from datamill.selection.changes.table_changes import TableChanges, compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.history.pair_cases import describe_distance, make_case
from datamill.selection.history.records import Observation, Version, WorkCount
from datamill.selection.history.settings import SelectionSettings, TruthSetting
from datamill.selection.history.truth import (
    UNKNOWN,
    Truth,
    judge_counts,
    judge_times,
    measure_spread,
    warn_of_spread,
)
from datamill.selection.indicators.evidence import Evidence
from datamill.selection.predictors.case import Case
from datamill.selection.profiles.profile import Profile
from datamill.selection.tables.function_table import FunctionTable

#: Numbers that a user's command printed for two commits, by name.
ReadFeatures = Callable[[str, str], Mapping[str, float]]


@dataclass(frozen=True)
class Collection:
    """What a store holds. Tables are joined ones by program, profiles by program and benchmark."""

    settings: SelectionSettings
    versions: tuple[Version, ...]
    read_table: Callable[[str], FunctionTable]
    profiles: Mapping[str, Mapping[str, Profile]]
    observations: Sequence[Observation] = ()
    counts: Sequence[WorkCount] = ()
    read_user_features: ReadFeatures = field(default=lambda _old, _new: {})

    @cached_property
    def built(self) -> tuple[Version, ...]:
        """Versions whose programs are known, the oldest first."""
        return tuple(version for version in self.versions if version.outcome == "built")

    @cached_property
    def by_commit(self) -> Mapping[str, Version]:
        """Built versions by their commit."""
        return {version.commit: version for version in self.built}

    @cached_property
    def benchmarks(self) -> tuple[str, ...]:
        """Benchmarks that the settings name and at least one program was profiled with."""
        seen = {name for found in self.profiles.values() for name in found}
        return tuple(item.name for item in self.settings.benchmark if item.name in seen)

    @cached_property
    def _measured(self) -> Mapping[tuple[str, str], list[Observation]]:
        found: dict[tuple[str, str], list[Observation]] = {}
        for item in self.observations:
            found.setdefault((item.program, item.benchmark), []).append(item)
        return found

    @cached_property
    def _counted(self) -> Mapping[tuple[str, str], WorkCount]:
        return {(item.program, item.benchmark): item for item in self.counts}

    @cached_property
    def spreads(self) -> Mapping[str, float]:
        """By which share two counts of one program differed at most, by benchmark."""
        return {
            name: measure_spread(item for item in self.counts if item.benchmark == name)
            for name in self.benchmarks
        }

    def warn_of_spread(self, setting: TruthSetting) -> list[str]:
        """Say which counts differ from themselves by as much as what is to be seen."""
        told = (warn_of_spread(name, spread, setting) for name, spread in self.spreads.items())
        return [line for line in told if line]

    def judge(self, old: str, new: str, benchmark: str, setting: TruthSetting) -> Truth:
        """Say whether a benchmark changed from one program to another; a program does not change itself."""
        if old == new:
            return Truth(False, 1.0)
        if setting.rule == "instructions":
            counts = self._counted.get((old, benchmark)), self._counted.get((new, benchmark))
            return judge_counts(*counts, setting, self.spreads.get(benchmark, 0.0))
        before, after = self._measured.get((old, benchmark)), self._measured.get((new, benchmark))
        return judge_times(before, after, setting) if before and after else UNKNOWN

    def mean_seconds(self, benchmark: str) -> float | None:
        """Return the mean wall time of an execution of a benchmark; None where nothing was timed."""
        times = [
            item.wall_ns
            for (_, name), items in self._measured.items()
            if name == benchmark
            for item in items
            if item.wall_ns
        ]
        return sum(times) / len(times) / 1e9 if times else None


@dataclass(frozen=True, slots=True)
class Pairing:
    """Cases of pairs of versions, with how many pairs were left out, and why."""

    cases: tuple[Case, ...]
    identical: int = 0
    unsure: int = 0
    unprofiled: int = 0


def list_closest_pairs(collection: Collection) -> list[tuple[Version, Version]]:
    """Return each built version with its closest collected ancestor, the oldest first."""
    known = collection.by_commit
    return [(known[version.ancestor], version) for version in collection.built if version.ancestor in known]


def list_pairs_ahead(collection: Collection, ahead: int) -> list[tuple[Version, Version]]:
    """Return the closest pairs, and each built version with each of the `ahead` ones after it."""
    built = collection.built
    pairs = {(old.commit, new.commit): (old, new) for old, new in list_closest_pairs(collection)}
    for place, old in enumerate(built):
        for new in built[place + 1 : place + 1 + ahead]:
            pairs[old.commit, new.commit] = (old, new)
    return list(pairs.values())


def build_cases(
    collection: Collection,
    pairs: Iterable[tuple[Version, Version]],
    truth: TruthSetting,
    *,
    keep_identical: bool = False,
) -> Pairing:
    """Return the cases of each benchmark in pairs of versions.

    Pairs of the same program are left out unless `keep_identical`: they are dismissed without a prediction,
    and rates that count them are too good. A benchmark without a profile of the old program has no case.
    """
    cases: list[Case] = []
    identical = unsure = unprofiled = 0
    changes: dict[tuple[str, str], TableChanges] = {}
    features: dict[tuple[str, str, str], Mapping[str, float]] = {}
    for old, new in pairs:
        if old.program == new.program and not keep_identical:
            identical += 1
            continue
        between = describe_distance(collection.by_commit, old, new) | dict(
            collection.read_user_features(old.commit, new.commit)
        )
        for benchmark in collection.benchmarks:
            profile = collection.profiles.get(old.program, {}).get(benchmark)
            if profile is None:
                unprofiled += 1
                continue
            key = (old.program, new.program)
            if key not in changes:
                changes[key] = compare_tables(
                    collection.read_table(old.program), collection.read_table(new.program)
                )
            if (*key, benchmark) not in features:
                features[*key, benchmark] = read_features(Evidence(changes[key], profile))
            told = collection.judge(*key, benchmark, truth)
            unsure += not told.is_sure
            cases.append(
                make_case(
                    benchmark, old, new, {**features[*key, benchmark], **between}, told.changed, told.ratio
                )
            )
        if len(changes) > 64:
            changes.clear()
    return Pairing(tuple(cases), identical, unsure, unprofiled)


def list_any_pairs(collection: Collection, most: int, seed: int) -> list[tuple[Version, Version]]:
    """Return pairs of any two built versions of different programs, at random `most` of them."""
    built = collection.built
    every = [
        (old, new)
        for place, old in enumerate(built)
        for new in built[place + 1 :]
        if old.program != new.program
    ]
    if len(every) <= most:
        return every
    kept = random.Random(seed).sample(every, most)
    return sorted(kept, key=lambda pair: (pair[1].order, pair[0].order))


def list_pairs_after(collection: Collection, old_order: int) -> list[tuple[Version, Version]]:
    """Return each version after that of this order against it."""
    old = next(version for version in collection.built if version.order == old_order)
    return [(old, new) for new in collection.built if new.order > old_order]
