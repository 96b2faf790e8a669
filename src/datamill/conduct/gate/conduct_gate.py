"""A gate from what is asked to what was measured: revisions built, benchmarks tried, sweeps run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD, BenchmarkVerdict
from datamill.analysis.gate.power import Found, average_power, find_all_slowdowns
from datamill.analysis.sequential.rounds import Rounds
from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.commits.revision_builds import choose_executions
from datamill.conduct.commits.time_revisions import scratch_folder
from datamill.conduct.gate.benchmark_values import BenchmarkError, BenchmarkValues
from datamill.conduct.gate.gate_revisions import (
    build_revisions,
    choose_revisions,
    join_builds,
    list_build_places,
)
from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.conduct.timing.cautions import look_at_machine
from datamill.design.seeds import derive_seed
from datamill.execution.command_session import CommandSession
from datamill.execution.host_lock import lock_host
from datamill.experiment.errors import InputError
from datamill.experiment.gate.gate import Gate
from datamill.experiment.quantities import format_duration
from datamill.packing.git.git_trees import GET_SUBMODULES, GitTree, GitTrees
from datamill.protocol.trial import HostFacts


class GateListener(Protocol):
    """Hears how a gate goes on; never while something is measured."""

    def tell_waiting(self, sentence: str) -> None:
        """Something else is measured on this machine, and is waited for."""
        ...

    def tell_building(self, sentence: str) -> None:
        """Something is built or tried."""
        ...

    def tell_look(self, verdicts: tuple[BenchmarkVerdict, ...], sweeps: int, elapsed_s: float) -> None:
        """The data were looked at."""
        ...


#: Share of the time allowed by which it is overrun before that is told.
_OVERRUN = 0.05


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What a gate came to.

    `rounds` are those of each value by its name, `found` the slowdowns that they show, `power` the chance of
    an alarm by the slowdown, in the mean over all. `broken` says in a sentence each what works in base and
    not in head, `added` names benchmarks that base lacks. `varies` says whether builds differ. `base_lacks`
    says that base cannot be built, so that nothing could be compared.
    """

    gate: Gate
    base: GitTree
    head: GitTree
    verdicts: tuple[BenchmarkVerdict, ...]
    rounds: Mapping[str, Rounds]
    found: Mapping[str, Found]
    power: Mapping[float, float]
    broken: tuple[str, ...]
    added: tuple[str, ...]
    warnings: tuple[str, ...]
    host: HostFacts
    sweeps: int
    measured_s: float
    varies: bool
    interrupted: bool
    base_lacks: bool = False


def conduct_gate(
    gate: Gate, folder: Path, state: Path, binary: Path, seed: int, listener: GateListener
) -> GateOutcome:
    """Build both revisions, measure every benchmark in turns, and judge.

    Args:
        gate: what is asked.
        folder: in the repository.
        state: where folders for checkouts are made.
        binary: the worker.
        seed: of all that is drawn.
        listener: hears of each step.

    Raises:
        InputError: when there is no such revision, head cannot be built, or no benchmark works in both (in
            head alone, where base cannot be built).
        WorkerError: when the worker ended.
        KeyboardInterrupt: when it was interrupted before there was anything to tell.
    """
    with ExitStack() as held:
        held.enter_context(lock_host(tell=listener.tell_waiting))
        scratch = Path(held.enter_context(scratch_folder(state)))
        trees = GitTrees(folder, scratch)
        base, head, warnings = choose_revisions(trees, gate)
        session = held.enter_context(CommandSession(binary))
        if base.tree == head.tree:
            return _judge_nothing(gate, base, head, session.greeting.host)
        build = join_builds(gate)
        checkouts = {
            side: Checkout(trees, tree, scratch / name, build, where=list_build_places(gate))
            for side, name, tree in ((BASE, "a", base), (HEAD, "b", head))
        }
        first = build_revisions(session, checkouts, build, seed, listener.tell_building)
        varies = first.vary
        warnings += look_at_machine()
        missing = [
            f"the submodule {path} of {tree.title} is missing: {GET_SUBMODULES} gets it"
            for tree in (base, head)
            for path in trees.list_submodules(tree)
        ]
        warnings += missing
        if build and not varies and not first.base_problem:
            warnings.append(
                "each build of a revision is the same however often it is built: what another layout would "
                "do is not part of the intervals"
            )

        def make_build(number: int) -> None:
            for side, checkout in checkouts.items():
                checkout.forget(number - 1)
                checkout.build_again(session, number, derive_seed(seed, "build", side, str(number)))

        run = GateRun(
            session, gate, checkouts, [], scratch, make_build if varies else None, seed, listener.tell_look
        )
        sides = (HEAD,) if first.base_problem else (BASE, HEAD)
        tried = _try_benchmarks(gate, run, first.build_s if varies else 0.0, sides, listener.tell_building)
        if run.measured:
            run.run()
        elif not tried.broken and not tried.added:
            where = head.title if first.base_problem else f"both {base.title} and {head.title}"
            raise InputError(
                f"no benchmark works in {where}: {'; '.join((*tried.notes, *missing))}",
                remedy="Each revision is checked out anew, without what git ignores: see that its build and "
                "its commands work there.",
            )
        if first.base_problem:
            warnings.append(first.base_problem)
        warnings += tried.notes
        broken = list(tried.broken)
        for item in run.measured:
            if run.breaks(item):
                broken.append(
                    f"{item.benchmark.name} failed in {item.count_failures(HEAD)} of {item.runs} executions, "
                    f"in base in {item.count_failures(BASE)} (first in {item.failures[0]})"
                )
            elif item.failures:
                warnings.append(
                    f"{item.benchmark.name} failed in {len(item.failures)} of {item.runs} executions "
                    f"(first in {item.failures[0]})"
                )
        over_s = run.elapsed_s - gate.within_s
        if run.measured and over_s > _OVERRUN * gate.within_s and not run.interrupted:
            warnings.append(
                f"it took {format_duration(over_s)} more than the {format_duration(gate.within_s)} allowed: "
                "two rounds are the fewest, and the last one may take longer than those before it"
            )
        rounds = run.gather_rounds() if run.measured else {}
        listener.tell_building("working out which slowdowns would have been found")
        found = find_all_slowdowns(rounds, alpha=gate.alpha, tolerate=gate.tolerate)
        return GateOutcome(
            gate=replace(gate, base=base.title, head=head.title),
            base=base,
            head=head,
            verdicts=run.verdicts,
            rounds=rounds,
            found=found,
            power=average_power(found),
            broken=tuple(broken),
            added=tried.added,
            warnings=tuple(warnings),
            host=session.greeting.host,
            sweeps=run.sweeps,
            measured_s=run.elapsed_s,
            varies=varies,
            interrupted=run.interrupted,
            base_lacks=bool(first.base_problem),
        )


def _judge_nothing(gate: Gate, base: GitTree, head: GitTree, host: HostFacts) -> GateOutcome:
    """What a change comes to that changes no file."""
    note = f"{head.title} has the same files as {base.title}"
    gate = replace(gate, base=base.title, head=head.title)
    return GateOutcome(
        gate, base, head, (), {}, {}, {}, (), (), (note,), host, 0, 0.0, varies=False, interrupted=False
    )


@dataclass(frozen=True, slots=True)
class _Tried:
    broken: tuple[str, ...]
    added: tuple[str, ...]
    notes: tuple[str, ...]


def _try_benchmarks(
    gate: Gate, run: GateRun, build_s: float, sides: tuple[str, ...], tell: Callable[[str], None]
) -> _Tried:
    """Execute each once in the revisions that are built, which warms it up and shows what values it has."""
    broken, added, notes = [], [], []
    run.measured = [Measured(benchmark, 0.0, 1, ()) for benchmark in gate.benchmarks]
    working = []
    for item in run.measured:
        benchmark = item.benchmark
        tell(f"trying {benchmark.name}")
        found: dict[str, BenchmarkValues] = {}
        problems: dict[str, str] = {}
        for side in sides:
            try:
                found[side] = run.execute(benchmark, side)
            except BenchmarkError as problem:
                problems[side] = str(problem)
        if HEAD in problems and BASE in found:
            broken.append(f"{benchmark.name} worked before, and {problems[HEAD]}")
        elif BASE in problems and HEAD in found:
            added.append(benchmark.name)
            notes.append(f"{benchmark.name} is not compared: in base it {problems[BASE]}")
        elif problems:
            notes.append(f"{benchmark.name} {problems[HEAD]}")
        elif BASE not in sides:
            added += found[HEAD].by_name
        if len(found) < 2:
            continue
        before, after = found[BASE].by_name, found[HEAD].by_name
        notes += [f"{name} is not compared: head does not have it" for name in before if name not in after]
        added += [name for name in after if name not in before]
        names = tuple(name for name in before if name in after)
        if names:
            item.names = names
            item.execution_s = max(values.time_s for values in found.values())
            item.executions = choose_executions(item.execution_s, build_s)
            working.append(item)
    run.measured = working
    return _Tried(tuple(broken), tuple(added), tuple(notes))
