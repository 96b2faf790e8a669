"""Benchmarks of programs executed in one random order, at least five times each."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from datamill.conduct.selection.collecting.commands import (
    HERE,
    describe_problem,
    execute,
    fill_command,
    hide_folders,
)
from datamill.conduct.selection.store.kept_binaries import list_variables
from datamill.conduct.selection.store.selection_store import (
    MeasuringSession,
    PlannedExecution,
    SelectionStore,
)
from datamill.execution.command_session import CommandSession
from datamill.selection.history.records import Observation, Version
from datamill.selection.history.settings import SelectionSettings


def list_failing(observations: Iterable[Observation]) -> dict[tuple[str, str], str]:
    """Return why the last execution of a program and a benchmark failed, where it did."""
    last: dict[tuple[str, str], str] = {}
    for item in sorted(observations, key=lambda item: item.started_unix_ns):
        last[item.program, item.benchmark] = item.failure
    return {pair: failure for pair, failure in last.items() if failure}


def plan_session(
    versions: Sequence[Version],
    settings: SelectionSettings,
    store: SelectionStore,
    observations: Sequence[Observation],
    seed: int,
) -> MeasuringSession | None:
    """Plan the executions that are missing, in random order; None where nothing is.

    A program that was measured in an earlier session is measured again beside one that descends from it:
    the machine may have changed between the sessions. A benchmark that failed with a program is not repeated.
    """
    enough = Counter((item.program, item.benchmark) for item in observations if not item.failure)
    failed = list_failing(observations)
    built = {version.commit: version for version in versions if version.outcome == "built"}
    wanted: dict[str, None] = {}
    for version in built.values():
        missing = any(
            enough[version.program, item.name] < settings.repetitions
            and (version.program, item.name) not in failed
            for item in settings.benchmark
        )
        if missing:
            before = built.get(version.ancestor)
            wanted |= dict.fromkeys(item.program for item in (before, version) if item is not None)
    pairs = [
        (program, item.name)
        for program in wanted
        if store.place_programs(program).exists()
        for item in settings.benchmark
        if (program, item.name) not in failed
    ]
    order = [pair for pair in pairs for _ in range(settings.repetitions)]
    if not order:
        return None
    random.Random(seed).shuffle(order)
    return MeasuringSession(
        f"{time.time_ns()}-{seed}",
        tuple(PlannedExecution(program, name, place) for place, (program, name) in enumerate(order)),
    )


def measure_session(
    session: MeasuringSession,
    settings: SelectionSettings,
    store: SelectionStore,
    worker: CommandSession,
    here: Path,
    tell: Callable[[str], None],
    until_s: float | None = None,
) -> bool:
    """Execute what is left of a session, each execution written down at once; return whether it is complete.

    `until_s` is when no further execution begins, by `time.monotonic`.
    """
    done = {item.place for item in store.read_log() if item.session == session.name}
    failed = {(item.program, item.benchmark) for item in store.read_log() if item.failure}
    commands = {item.name: fill_command(item.command, here) for item in settings.benchmark}
    left = [item for item in session.executions if item.place not in done and item.benchmark in commands]
    told_s = time.monotonic()
    for number, item in enumerate(left):
        if until_s is not None and time.monotonic() >= until_s:
            return False
        if time.monotonic() - told_s > 10:
            told_s = time.monotonic()
            tell(f"{number} of {len(left)} executions")
        if (item.program, item.benchmark) in failed:
            continue
        folder = store.place_programs(item.program)
        started = time.time_ns()
        variables = list_variables(store.programs[item.program], folder)
        answer = execute(worker, commands[item.benchmark], folder, settings.timeout_s, variables)
        problem = hide_folders(describe_problem(answer), {folder: "", here: HERE})
        run = answer.run
        if problem or run is None:
            failed.add((item.program, item.benchmark))
            observation = Observation(
                item.program, item.benchmark, session.name, item.place, started, failure=problem
            )
        else:
            observation = Observation(
                program=item.program,
                benchmark=item.benchmark,
                session=session.name,
                place=item.place,
                started_unix_ns=started,
                wall_ns=run.wall_time_ns,
                user_ns=run.user_time_ns,
                system_ns=run.system_time_ns,
                peak_memory_bytes=run.peak_memory_bytes,
            )
        store.append_observation(observation)
    return True
