"""A gate from what is asked to what was measured: revisions built, benchmarks tried, sweeps run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD, BenchmarkVerdict
from datamill.analysis.gate.power import Found, average_power, find_all_slowdowns
from datamill.analysis.sequential.rounds import Rounds
from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.commits.time_revisions import scratch_folder
from datamill.conduct.gate.editable_installs import list_editable_installs
from datamill.conduct.gate.gate_revisions import (
    build_revisions,
    choose_revisions,
    join_builds,
    list_build_places,
)
from datamill.conduct.gate.gate_run import GateRun
from datamill.conduct.gate.limits import list_limits
from datamill.conduct.gate.try_benchmarks import list_breaking, list_failing, try_benchmarks
from datamill.conduct.timing.cautions import find_load, look_at_machine
from datamill.design.seeds import derive_seed
from datamill.execution.command_session import CommandSession
from datamill.execution.host_lock import lock_host
from datamill.experiment.errors import InputError
from datamill.experiment.gate.gate import Gate
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


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What a gate came to.

    `rounds` are those of each value by its name, `found` the slowdowns that they show, `power` the chance of
    an alarm by the slowdown, in the mean over all. `broken` says in a sentence each what works in base and
    not in head, `added` names benchmarks that base lacks. `varies` says whether builds differ. `base_lacks`
    says that base cannot be built, so that nothing could be compared. `uncompared` are those of the warnings
    that say what is not compared, and why.
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
    uncompared: tuple[str, ...] = ()


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
        warnings += look_at_machine(find_load())
        missing = [
            f"the submodule {path} of {tree.title} is missing: {GET_SUBMODULES} gets it"
            for tree in (base, head)
            for path in trees.list_submodules(tree)
        ]
        warnings += missing
        places = [checkout.directory for checkout in checkouts.values()]
        shared = list_editable_installs(gate.benchmarks, trees.top, places)
        warnings += shared
        if build and not varies and not first.base_problem:
            links = any(checkout.made for checkout in checkouts.values())
            why = (
                "each build of a revision is the same however often it is built"
                if links
                else "the build links no program or library, so that each revision is built once"
            )
            warnings.append(f"{why}: what another layout would do is not part of the intervals")
            if not all(checkout.can_be_placed() for checkout in checkouts.values()):
                warnings.append(
                    "what is built is too large to be read again for each round: where it lies in memory, "
                    "which can change its time, is not part of the intervals either"
                )

        def make_build(number: int) -> None:
            for side, checkout in checkouts.items():
                checkout.forget(number - 1)
                checkout.build_again(session, number, derive_seed(seed, "build", side, str(number)))

        run = GateRun(
            session, gate, checkouts, [], scratch, make_build if varies else None, seed, listener.tell_look
        )
        sides = (HEAD,) if first.base_problem else (BASE, HEAD)
        tried = try_benchmarks(gate, run, first.build_s if varies else 0.0, sides, listener.tell_building)
        if run.measured:
            run.run()
        elif not (tried.broken or tried.added or tried.mended):
            where = head.title if first.base_problem else f"both {base.title} and {head.title}"
            raise InputError(
                f"no benchmark works in {where}: {'; '.join((*tried.notes, *missing))}",
                remedy="Each revision is checked out anew, without what git ignores: see that its build and "
                "its commands work there.",
            )
        if first.base_problem:
            warnings.append(first.base_problem)
        warnings += tried.notes
        broken = [*tried.broken, *list_breaking(run)]
        untold = list_failing(run, often=True)
        warnings += [*untold, *list_failing(run, often=False)]
        warnings += list_limits(gate, run, varies=varies)
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
            uncompared=(*shared, *tried.notes, *untold),
        )


def _judge_nothing(gate: Gate, base: GitTree, head: GitTree, host: HostFacts) -> GateOutcome:
    """What a change comes to that changes no file."""
    note = f"{head.title} has the same files as {base.title}"
    gate = replace(gate, base=base.title, head=head.title)
    return GateOutcome(
        gate, base, head, (), {}, {}, {}, (), (), (note,), host, 0, 0.0, varies=False, interrupted=False
    )
