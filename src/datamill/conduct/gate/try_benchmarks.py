"""Benchmarks executed once in both revisions, and what of them works, fails, is new or gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD
from datamill.conduct.commits.revision_builds import choose_executions
from datamill.conduct.gate.benchmark_values import BenchmarkError, BenchmarkValues
from datamill.conduct.gate.gate_run import GateRun, Measured, count_failures
from datamill.experiment.gate.gate import Gate
from datamill.results.foreign.foreign_results import FAILED


@dataclass(frozen=True, slots=True)
class Tried:
    """What one execution in each revision showed.

    `broken` says in a sentence each what works in base and fails in head, `added` names benchmarks that base
    lacks, `mended` commands that base has and that work in head alone, `notes` say in a sentence each what is
    not compared, and why. No sentence has a full stop.
    """

    broken: tuple[str, ...]
    added: tuple[str, ...]
    mended: tuple[str, ...]
    notes: tuple[str, ...]


def try_benchmarks(
    gate: Gate, run: GateRun, build_s: float, sides: tuple[str, ...], tell: Callable[[str], None]
) -> Tried:
    """Execute each once in the revisions that are built, which warms it up and shows what values it has.

    Args:
        gate: what is asked.
        run: executes; it gets the benchmarks that have values in both revisions.
        build_s: time that a build takes; 0 where each round has the same.
        sides: revisions that are built.
        tell: hears which is tried.
    """
    broken: list[str] = []
    added: list[str] = []
    mended: list[str] = []
    notes: list[str] = []
    run.measured = []
    for benchmark in gate.benchmarks:
        tell(f"trying {benchmark.name}")
        found: dict[str, BenchmarkValues] = {}
        problems: dict[str, BenchmarkError] = {}
        for side in sides:
            try:
                found[side] = run.execute(benchmark, side)
            except BenchmarkError as problem:
                problems[side] = problem
        if HEAD in problems and BASE in found:
            broken.append(f"{benchmark.name} worked before, and {problems[HEAD]}")
        elif BASE in problems and HEAD in found:
            (added if problems[BASE].lacks_program else mended).append(benchmark.name)
            notes.append(f"{benchmark.name} is not compared: in base it {problems[BASE]}")
        elif problems:
            notes.append(f"{benchmark.name} {problems[HEAD]}")
        elif BASE not in sides:
            added += found[HEAD].by_name
        if HEAD in found:
            notes += _list_failed(benchmark.name, found.get(BASE), found[HEAD])
        if BASE not in found or HEAD not in found:
            continue
        before, after = found[BASE], found[HEAD]
        broken += _list_broken(benchmark.name, before, after)
        notes += _list_notes(benchmark.name, before, after)
        known = {**before.by_name, **before.failed, **before.untimed}
        added += [name for name in after.by_name if name not in known and not before.problem]
        names = tuple(name for name in before.by_name if name in after.by_name)
        if names:
            execution_s = max(values.time_s for values in found.values())
            failing = frozenset(side for side, values in found.items() if values.problem)
            executions = choose_executions(execution_s, build_s)
            run.measured.append(Measured(benchmark, execution_s, executions, names, failing))
    return Tried(tuple(broken), tuple(added), tuple(mended), tuple(notes))


def _list_broken(command: str, before: BenchmarkValues, after: BenchmarkValues) -> list[str]:
    """What base measured and head did not, because it failed there."""
    broken = [
        f"{name} worked before, and {reason}"
        for name, reason in after.failed.items()
        if name in before.by_name
    ]
    if after.problem:
        given = {**after.by_name, **after.failed, **after.untimed}
        gone = [name for name in before.by_name if name not in given]
        told = f"{command} {after.problem}"
        if gone:
            broken.append(f"{_join(gone)} worked before, and {_give(gone)} no result in head, where {told}")
        elif not broken and not before.problem:
            broken.append(f"{command} worked before, and {after.problem}")
    return broken


def _list_failed(command: str, before: BenchmarkValues | None, after: BenchmarkValues) -> list[str]:
    """What fails in head and is not broken, since base does not show that it ever worked."""
    known = {**before.by_name, **before.failed} if before is not None else {}
    notes = [
        f"{name} failed in head{_tell_reason(reason)}"
        for name, reason in after.failed.items()
        if name not in known
    ]
    if after.problem and (before is None or before.problem):
        notes.append(f"in head {command} {after.problem}")
    return notes


def _tell_reason(reason: str) -> str:
    why = reason.removeprefix(FAILED).removeprefix(": ")
    return f": {why}" if why else ""


def _list_notes(command: str, before: BenchmarkValues, after: BenchmarkValues) -> list[str]:
    """What is not compared, other than what is broken."""
    notes = [f"{name} is not compared: in base it {reason}" for name, reason in before.failed.items()]
    for side, of, beside in ((HEAD, after, before), (BASE, before, after)):
        notes += [
            f"{name} is not compared: in {side} it has no time, but {unit}"
            for name, unit in of.untimed.items()
            if name in beside.by_name
        ]
    if before.problem:
        notes.append(f"in base {command} {before.problem}: only what it reported is compared")
        notes += [
            f"{name} is not compared: base gave no result"
            for name in after.by_name
            if name not in before.by_name and name not in before.failed and name not in before.untimed
        ]
    if after.problem:
        return notes
    return notes + [
        f"{name} is not compared: head does not have it"
        for name in before.by_name
        if name not in after.by_name and name not in after.failed and name not in after.untimed
    ]


def list_breaking(run: GateRun) -> list[str]:
    """Return what fails too often, and in head more often than in base, a sentence each."""
    return [
        f"{name} failed in {_tell_share(item, failures, HEAD)} executions in head, "
        f"in {_tell_share(item, failures, BASE)} in base (first in {failures[0]})"
        for item, name, failures in _list_failures(run)
        if _breaks(item, failures)
    ]


def list_failing(run: GateRun, *, often: bool) -> list[str]:
    """Return what failed in both too often to be told, or else what failed now and then, a sentence each."""
    return [
        f"{name} failed in {len(failures)} of {item.runs.total()} executions (first in {failures[0]})"
        for item, name, failures in _list_failures(run)
        if item.fails_often(failures) == often and not _breaks(item, failures)
    ]


def _list_failures(run: GateRun) -> list[tuple[Measured, str, list[str]]]:
    return [(item, name, failures) for item in run.measured for name, failures in item.list_failures()]


def _breaks(item: Measured, failures: list[str]) -> bool:
    return item.fails_often(failures) and count_failures(failures, HEAD) > count_failures(failures, BASE)


def _tell_share(item: Measured, failures: list[str], revision: str) -> str:
    return f"{count_failures(failures, revision)} of {item.runs[revision]}"


def _join(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _give(names: list[str]) -> str:
    return "gives" if len(names) == 1 else "give"
