"""The revisions of a gate: which they are, what builds them, and their first builds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from shlex import quote

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD
from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.commits.revision_builds import probe_builds
from datamill.execution.command_session import CommandSession
from datamill.experiment.errors import InputError
from datamill.experiment.gate.gate import Gate
from datamill.experiment.messages.arguments import argument, tell
from datamill.packing.git.git_trees import UNCOMMITTED, GitTree, GitTrees

#: Names of the line of development that a change is meant for, the first that exists counts.
_USUAL_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def choose_revisions(trees: GitTrees, gate: Gate) -> tuple[GitTree, GitTree, list[str]]:
    """Return base and head, with warnings about the choice.

    Raises:
        InputError: when there is no such revision, or nothing to compare head with.
    """
    notes = []
    head = "" if gate.head == UNCOMMITTED else gate.head
    if gate.base:
        base = gate.base
    else:
        found = trees.find(head or "HEAD").commit
        base = next(
            (
                name
                for name in _USUAL_BASES
                if trees.has(name) and trees.find(f"{name}...{head or 'HEAD'}").commit != found
            ),
            "",
        )
        if not base and head and not trees.has(f"{head}~1") and not trees.is_shallow:
            raise InputError(
                f"{head} is the first commit: there is nothing to compare it with",
                where="git",
                remedy="Commit a change, or name another base.",
            )
        if not base and trees.is_shallow:
            notes.append(
                "this clone is shallow and shows no main line: base is the commit before head, which may be "
                "part of the same change"
            )
        base = f"{base}...{head or 'HEAD'}" if base else ("HEAD" if not head else f"{head}~1")
    first, second = (trees.find(name) if name else trees.take_uncommitted() for name in (base, head))
    return first, second, notes


def join_builds(gate: Gate) -> str:
    """Return what builds the whole and then benchmarks, as one command.

    In braces: none may run where its folder is missing.
    """
    parts = [f"( {gate.build} )"] if gate.build else []
    parts += [
        f"( cd {quote(f'./{benchmark.directory}')} && {{ {benchmark.setup}\n}} )"
        for benchmark in gate.benchmarks
        if benchmark.setup
    ]
    return " && ".join(parts)


def list_build_places(gate: Gate) -> str:
    """Return where what builds is written: any of it may have failed."""
    places = [gate.build_place] if gate.build else []
    places += [benchmark.setup_place for benchmark in gate.benchmarks if benchmark.setup]
    return " or ".join(dict.fromkeys(place for place in places if place))


@dataclass(frozen=True, slots=True)
class FirstBuilds:
    """What the first builds showed: the time that a later one takes, and whether any differs.

    `base_problem` says why base cannot be built, where head can; then there is one build, of head.
    """

    build_s: float
    vary: bool
    base_problem: str = ""


def build_revisions(
    session: CommandSession,
    checkouts: dict[str, Checkout],
    build: str,
    seed: int,
    tell: Callable[[str], None],
) -> FirstBuilds:
    """Build both, and again.

    Raises:
        InputError: when head cannot be built.
    """
    if not build:
        return FirstBuilds(0.0, vary=False)
    head = checkouts[HEAD].tree.title
    tell(f"building {checkouts[BASE].tree.title}")
    try:
        checkouts[BASE].build_first(session)
    except InputError as problem:
        tell(f"building {head}")
        try:
            checkouts[HEAD].build_first(session)
        except InputError:
            raise InputError(
                f"{problem.message}. {head} cannot be built either",
                where=problem.where,
                remedy=problem.remedy,
            ) from None
        return FirstBuilds(0.0, vary=False, base_problem=_phrase_base_problem(problem))
    tell(f"building {head}")
    checkouts[HEAD].build_first(session)
    probed = probe_builds(session, checkouts, seed, tell)
    return FirstBuilds(probed.build_s, probed.differ)


def _phrase_base_problem(problem: InputError) -> str:
    return tell(
        f"{problem.where}: {problem.message.rstrip('.')}. To compare, name a base that can be built with "
        f"{argument('base', 'REV', verb='gate')}, such as the newest commit that passed"
    )
