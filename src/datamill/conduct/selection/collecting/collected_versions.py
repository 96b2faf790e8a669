"""Versions that were asked for: which are left to build, how they follow each other, what a store holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from datamill.conduct.selection.collecting.build_version import BuiltVersion
from datamill.conduct.selection.collecting.measure_programs import list_failing
from datamill.conduct.selection.collecting.walked_history import GitHistory, WalkedCommit
from datamill.conduct.selection.store.fleet_origin import read_origin
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.selection.history.ancestry import find_closest
from datamill.selection.history.collection_outcome import CollectionOutcome
from datamill.selection.history.records import COUNTED_WAY, Version
from datamill.selection.history.settings import SelectionSettings


def list_left(
    walked: Sequence[WalkedCommit],
    versions: Mapping[str, Version],
    builds: Mapping[str, str],
    *,
    retry_failed: bool,
) -> list[WalkedCommit]:
    """Return the commits that are not collected, and those that failed by another build than today's.

    `builds` says of each by what it is built today (`kept_commands.spell_build`). With `retry_failed` all
    that failed are returned as well.
    """

    def is_left(commit: str) -> bool:
        known = versions.get(commit)
        if known is None or known.outcome == "built":
            return known is None
        return retry_failed or (bool(known.build) and known.build != builds.get(commit, known.build))

    return [item for item in walked if is_left(item.commit)]


def count_untried(
    walked: Sequence[WalkedCommit], versions: Mapping[str, Version], left: Sequence[WalkedCommit]
) -> int:
    """Return how many commits failed before and are not among those that are left to build."""
    again = {item.commit for item in left}
    known = (versions.get(item.commit) for item in walked if item.commit not in again)
    return sum(version is not None and version.outcome != "built" for version in known)


def describe_version(commit: WalkedCommit, made: BuiltVersion, build: str = "") -> Version:
    """Return the version of a commit with the outcome of its build; `link_versions` adds its ancestor."""
    return Version(
        commit=commit.commit,
        order=0,
        outcome=made.outcome,
        subject=commit.subject,
        committed_unix_s=commit.committed_unix_s,
        parents=commit.parents,
        program=made.program.name if made.program is not None else "",
        reason=made.reason,
        build_s=made.build_s,
        build=build,
    )


def keep_builds(
    made: Mapping[str, BuiltVersion], builds: Mapping[str, str], history: GitHistory, store: SelectionStore
) -> None:
    """Put versions by their commits into the store, in the place of those that failed before.

    `builds` says of each by what it was built (`kept_commands.spell_build`).
    """
    if not made:
        return
    versions = {} if store.is_empty else {item.commit: item for item in store.versions}
    programs = dict(store.programs)
    for commit, item in made.items():
        versions[commit] = describe_version(history.describe(commit), item, builds.get(commit, ""))
        if item.program is not None:
            programs[item.program.name] = item.program
    store.write_versions(link_versions(history, versions), programs.values())


def list_unprofiled(
    settings: SelectionSettings,
    store: SelectionStore,
    *,
    retry_failed: bool = False,
) -> dict[str, list[str]]:
    """Return the benchmarks that were never counted as today, by the programs that are kept and lack some.

    Those of a program whose profiles are gone were not. With `retry_failed` those too that failed while they
    were counted.
    """
    counted = {
        (item.program, item.benchmark)
        for item in store.read_counts()
        if item.way == COUNTED_WAY
        and not (item.failure and retry_failed)
        and store.has_profiles(item.program)
    }
    lacking = {
        name: [item.name for item in settings.benchmark if (name, item.name) not in counted]
        for name in store.programs
        if store.place_programs(name).exists()
    }
    return {name: benchmarks for name, benchmarks in lacking.items() if benchmarks}


def link_versions(history: GitHistory, versions: Mapping[str, Version]) -> list[Version]:
    """Return versions in the order of the history, each with its closest ancestor among the built ones.

    Commits that the clone lacks (it is shallow, or they were dropped) keep their order, before all others.
    An ancestor that is known stays where the clone shows none, or one that is farther away.
    """
    parents = history.read_parents(list(versions))
    place = {commit: -number for number, commit in enumerate(parents)}
    known = {item.commit for item in versions.values() if item.outcome == "built"}

    def rank(item: Version) -> tuple[bool, int, str]:
        is_here = item.commit in place
        return is_here, place[item.commit] if is_here else item.order, item.commit

    linked = []
    for order, item in enumerate(sorted(versions.values(), key=rank)):
        found = find_closest(item.commit, known, lambda commit: parents.get(commit, ()))
        is_linked = item.ancestor in known and item.hops > 0
        if is_linked and (found is None or found.commit == item.ancestor or item.hops < found.hops):
            linked.append(msgspec.structs.replace(item, order=order))
            continue
        if found is None:
            linked.append(msgspec.structs.replace(item, order=order, ancestor="", hops=0))
            continue
        between = history.measure_distance(found.commit, item.commit)
        days = (item.committed_unix_s - versions[found.commit].committed_unix_s) / 86400
        linked.append(
            msgspec.structs.replace(
                item,
                order=order,
                ancestor=found.commit,
                hops=found.hops,
                days=max(days, 0.0),
                lines=between.lines,
                speed_words=between.speed_words,
            )
        )
    return linked


def sum_up(
    walked: int,
    fresh: int,
    history: GitHistory,
    settings: SelectionSettings,
    store: SelectionStore,
    finished: bool,
) -> CollectionOutcome:
    """Return what the store holds, of `walked` commits that were asked for and `fresh` built ones."""
    origin = read_origin(store)
    versions, programs = store.versions, store.programs
    failed = [item for item in versions if item.outcome != "built"]
    reasons: dict[str, int] = {}
    for item in failed:
        reasons[item.reason] = reasons.get(item.reason, 0) + 1
    observations = store.read_observations()
    failing: dict[tuple[str, str], int] = {}
    # Each with its programs: an execution that fails may have been repeated.
    told = {(item.program, item.benchmark, item.failure) for item in store.read_counts()}
    told |= {(*pair, failure) for pair, failure in list_failing(observations).items()}
    for _, name, failure in sorted(told):
        if failure:
            failing[name, failure] = failing.get((name, failure), 0) + 1
    warnings = []
    if history.is_shallow:
        warnings.append("the clone is shallow: older commits are not there (git fetch --unshallow gets them)")
    lost = {
        line
        for program in programs.values()
        for name in program.tables.values()
        for line in store.read_one_table(name).lost
    }
    warnings += sorted(lost)
    if not settings.benchmark:
        warnings.append("the settings name no benchmark: nothing was profiled or measured")
    if versions and len(failed) == len(versions):
        warnings.append(
            "no version builds: run the build in a fresh clone to see why, correct it in the settings, and "
            "collect again"
        )
    return CollectionOutcome(
        walked=walked,
        fresh=fresh,
        built=len(versions) - len(failed),
        failed=len(failed),
        programs=len(programs),
        profiled=sum(store.has_profiles(name) for name in programs),
        observations=sum(not item.failure for item in observations),
        finished=finished,
        reasons=tuple(sorted(reasons.items(), key=lambda item: -item[1])),
        failing=tuple((*key, count) for key, count in sorted(failing.items(), key=lambda item: -item[1])),
        warnings=tuple(warnings),
        machine=origin.machine if origin is not None else "",
    )
