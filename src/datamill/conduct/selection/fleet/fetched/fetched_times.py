"""Executions of benchmarks on a machine of a fleet, as observations of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from datamill.conduct.fleet.take_home import TakenHome
from datamill.conduct.selection.fleet.submitted.written_experiment import BENCHMARK_FACTOR
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE, count_attempts, read_attempts
from datamill.results.judgement.validity import explain_exclusion
from datamill.selection.history.records import Observation


def read_times(
    taken: TakenHome,
    session: str,
    machine: str,
    stopped: Mapping[str, str],
    failed: Collection[tuple[str, str]],
) -> tuple[list[Observation], list[str]]:
    """Return the observations of trials that counted, and why the others did not count.

    Args:
        taken: the bundle, whose packages are named after programs.
        session: what executions of this experiment are kept under.
        machine: the one that was to make all of them: what another made is left out.
        stopped: packages whose first trials failed alike, with the reason.
        failed: programs and benchmarks of which it is known already that they fail.
    """
    design = taken.bundle.design.trials
    places = {trial.trial_id: place for place, trial in enumerate(design)}
    judged = read_attempts(taken.bundle.folder / ATTEMPTS_FILE)
    counted = count_attempts(judged, taken.records)
    found: list[Observation] = []
    left_out: list[str] = []
    for record in taken.records:
        if counted.counted.get(record.trial_id) != record.attempt:
            continue
        made_by = judged.machines[record.trial_id, record.attempt] if judged is not None else ""
        pair = (record.package, record.levels.get(BENCHMARK_FACTOR, ""))
        if made_by != machine:
            left_out.append(f"{made_by} executed a benchmark in place of {machine}")
            continue
        reason = explain_exclusion(record, counted)
        if record.outcome == "completed" and reason:
            left_out.append(reason)
        elif not reason or pair not in failed:
            # What a script said last is in the message.
            told = record.failure.message if record.failure is not None else reason
            found.append(_observe(record, pair, session, places[record.trial_id], machine, told))
    seen = {(item.program, item.benchmark) for item in found} | set(failed)
    for trial in design:
        pair = (trial.package, trial.levels.get(BENCHMARK_FACTOR, ""))
        if trial.package in stopped and pair not in seen:
            seen.add(pair)
            place, why = places[trial.trial_id], stopped[trial.package]
            found.append(Observation(*pair, session, place, 0, failure=why, machine=machine))
    return found, left_out


def _observe(
    record: TrialRecord, pair: tuple[str, str], session: str, place: int, machine: str, failure: str
) -> Observation:
    run = record.run
    if failure or run is None:
        why = failure or "could not be measured"
        return Observation(*pair, session, place, record.started_unix_ns, failure=why, machine=machine)
    return Observation(
        *pair,
        session,
        place,
        run.started_unix_ns,
        wall_ns=run.wall_time_ns,
        user_ns=run.user_time_ns,
        system_ns=run.system_time_ns,
        peak_memory_bytes=run.peak_memory_bytes,
        machine=machine,
    )
