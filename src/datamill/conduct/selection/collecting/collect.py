"""A project's history collected: versions built, profiled and measured, as far as that is not done."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from datamill.conduct.selection.collecting.build_version import build_version, spell_builds
from datamill.conduct.selection.collecting.collected_versions import (
    count_untried,
    describe_version,
    link_versions,
    list_left,
    list_unprofiled,
    sum_up,
)
from datamill.conduct.selection.collecting.commands import run_setup
from datamill.conduct.selection.collecting.measure_programs import measure_session, plan_session
from datamill.conduct.selection.collecting.profile_program import profile_program
from datamill.conduct.selection.collecting.walked_history import GitHistory, WalkedCommit
from datamill.conduct.selection.profile_command import find_profiler
from datamill.conduct.selection.store.fleet_origin import check_collected_here
from datamill.conduct.selection.store.kept_commands import (
    check_builds,
    keep_commands,
    warn_of_other_builds,
    warn_of_untried,
)
from datamill.conduct.selection.store.kept_forms import check_form
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.execution.command_session import CommandSession
from datamill.execution.worker import find_worker
from datamill.selection.history.collection_outcome import CollectionOutcome
from datamill.selection.history.records import Observation, WorkCount
from datamill.selection.history.settings import SelectionSettings

#: The first program that is profiled and each so many on are counted twice, to know what counts are worth.
COUNTED_TWICE = 8


@dataclass(frozen=True, slots=True)
class CollectionQuestion:
    """What is to be collected: which commits, and what is done with them.

    `within_s` is how long it may take; what is left is done the next time. `jobs` is how many programs are
    profiled at the same time: benchmarks that share a port or a file need 1. `retry_failed`: what did not
    build is built again, and benchmarks that failed are counted and measured again. `only_asked`: programs of
    other versions in the store are not profiled.
    """

    range: str = "HEAD"
    stride: int = 1
    first_parent: bool = True
    touching: tuple[str, ...] = ()
    profile: bool = True
    measure: bool = True
    retry_failed: bool = False
    within_s: float | None = None
    jobs: int = 1
    only_asked: bool = False


def collect_history(
    question: CollectionQuestion,
    settings: SelectionSettings,
    history: GitHistory,
    store: SelectionStore,
    here: Path,
    tell: Callable[[str], None],
) -> CollectionOutcome:
    """Build, profile and measure the versions that are asked for; each step is on disk when it is done.

    Raises:
        InputError: the range or the settings cannot be used, valgrind is wanted and not installed, a fleet
        collects into the store, or its tables are of another version of the digests.
    """
    check_collected_here(store)
    if question.profile and settings.benchmark:
        find_profiler()
    walked = history.walk(
        question.range,
        first_parent=question.first_parent,
        stride=question.stride,
        touching=question.touching,
    )
    check_builds(settings, history)
    builds = spell_builds(settings, history, [item.commit for item in walked])
    until_s = None if question.within_s is None else time.monotonic() + question.within_s
    with store.locked(), CommandSession(find_worker()) as worker:
        check_form(store)
        assumed = keep_commands(settings, store)
        fresh, untried, all_built = _build(
            question, walked, builds, settings, history, store, worker, here, tell, until_s
        )
        run_setup(worker, settings, here)
        asked = _list_asked(walked, store) if question.only_asked else store.programs
        all_profiled = not question.profile or _profile(question, asked, settings, store, here, tell, until_s)
        all_measured = not question.measure or _measure(
            question, settings, store, here, worker, tell, until_s
        )
    finished = all_built and all_profiled and all_measured
    outcome = sum_up(len(walked), fresh, history, settings, store, finished)
    told = [assumed, warn_of_other_builds({item.commit: item for item in store.versions}, builds)]
    told.append(warn_of_untried(untried))
    return replace(outcome, warnings=(*outcome.warnings, *filter(None, told)))


def _build(
    question: CollectionQuestion,
    walked: Sequence[WalkedCommit],
    builds: Mapping[str, str],
    settings: SelectionSettings,
    history: GitHistory,
    store: SelectionStore,
    worker: CommandSession,
    here: Path,
    tell: Callable[[str], None],
    until_s: float | None,
) -> tuple[int, int, bool]:
    """Return how many versions were tried now, how many not since they failed, and whether all are done."""
    versions = {} if store.is_empty else {item.commit: item for item in store.versions}
    programs = dict(store.programs)
    left = list_left(walked, versions, builds, retry_failed=question.retry_failed)
    untried = count_untried(walked, versions, left)
    fresh = 0
    for number, item in enumerate(left, start=1):
        if until_s is not None and time.monotonic() >= until_s:
            break
        made = build_version(item.commit, settings, history, store, worker, here)
        if made.program is not None:
            programs[made.program.name] = made.program
        versions[item.commit] = describe_version(item, made, builds[item.commit])
        fresh += 1
        tell(f"{number} of {len(left)} {item.commit[:9]} {made.outcome} {made.reason}".rstrip())
        store.write_versions(versions.values(), programs.values())
    # Each time: a commit that was predicted is a version too, and belongs between the others.
    store.write_versions(link_versions(history, versions), programs.values())
    return fresh, untried, fresh == len(left)


def _list_asked(walked: Sequence[WalkedCommit], store: SelectionStore) -> Collection[str]:
    """The programs of the versions that were asked for."""
    asked = {item.commit for item in walked}
    return {version.program for version in store.versions if version.commit in asked}


def _profile(
    question: CollectionQuestion,
    asked: Collection[str],
    settings: SelectionSettings,
    store: SelectionStore,
    here: Path,
    tell: Callable[[str], None],
    until_s: float | None,
) -> bool:
    counts = {(item.program, item.benchmark): item for item in store.read_counts()}
    unprofiled = list_unprofiled(settings, store, retry_failed=question.retry_failed)
    left = [store.programs[name] for name in unprofiled if name in asked]
    done = True

    def profile(place: int) -> list[WorkCount] | None:
        if until_s is not None and time.monotonic() >= until_s:
            return None
        twice = place % COUNTED_TWICE == 0
        program = left[place]
        return profile_program(program, settings, store, here, only=unprofiled[program.name], twice=twice)

    # Counts do not depend on the machine's load, but two servers would share their port.
    pool = ThreadPoolExecutor(max_workers=question.jobs)
    try:
        for number, found in enumerate(pool.map(profile, range(len(left))), start=1):
            if found is None:
                done = False
                continue
            counts |= {(item.program, item.benchmark): item for item in found}
            store.write_counts(counts.values())
            tell(f"profiled {number} of {len(left)}")
    finally:
        # A command that is interrupted does not begin with the programs that wait.
        pool.shutdown(cancel_futures=True)
    return done


def _measure(
    question: CollectionQuestion,
    settings: SelectionSettings,
    store: SelectionStore,
    here: Path,
    worker: CommandSession,
    tell: Callable[[str], None],
    until_s: float | None,
) -> bool:
    if not settings.benchmark:
        return True
    session = store.read_session()
    was_under_way = session is not None
    if session is None:
        observations: list[Observation] = store.read_observations()
        if question.retry_failed:
            observations = [item for item in observations if not item.failure]
        session = plan_session(store.versions, settings, store, observations, secrets.randbelow(1 << 32))
        if session is None:
            return True
        store.write_json("session.json", session)
    if not measure_session(session, settings, store, worker, here, tell, until_s):
        return False
    store.close_session()
    if was_under_way:
        # It knows neither versions that came since nor what is to be tried again.
        return _measure(question, settings, store, here, worker, tell, until_s)
    return True
