"""One command executed in several revisions of a repository, each built several times, in turns."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.commits.revision_builds import RevisionBuilds, choose_executions, probe_builds
from datamill.conduct.timing.builds import BuildPlan
from datamill.conduct.timing.executions import clean_up
from datamill.conduct.timing.listener import TimingListener
from datamill.conduct.timing.question import TimingQuestion
from datamill.conduct.timing.time_commands import TimedCommands, measure_rounds
from datamill.conduct.timing.warm_up import WarmUp, warm_up_commands
from datamill.execution.command_session import CommandSession
from datamill.execution.host_lock import lock_host
from datamill.execution.state_folder import find_results_folder
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.packing.git.git_trees import GET_SUBMODULES, SHORT_DIGITS, GitTree, GitTrees
from datamill.results.bundles.bundle_files import check_bundle_place

if TYPE_CHECKING:
    from datamill.conduct.timing.timing_bundle import PackageOrigin

_SCRATCH = "datamill-revisions-"
#: Commits of a series at most.
_MOST_COMMITS = 30


@dataclass(frozen=True, slots=True)
class RevisionQuestion:
    """Which revisions are compared by what: `revisions` as typed (empty: what is not committed), in order.

    `folder` is where the user is, in the repository; `build` is empty where nothing is built. With `series`
    the commits between the two take part as well.
    """

    folder: Path
    revisions: tuple[str, ...]
    build: str
    series: bool = False


def time_revisions(
    asked: RevisionQuestion, question: TimingQuestion, binary: Path, folder: Path, listener: TimingListener
) -> TimedCommands:
    """Check revisions out, build them, and time a command in each of them.

    Args:
        asked: which revisions.
        question: what is timed, with one command.
        binary: the worker.
        folder: where the bundle is made.
        listener: hears of each step.

    Raises:
        InputError: when no bundle can be made there, there is no such revision, one cannot be built, or the
            command fails.
        WorkerError: when the worker ended.
        KeyboardInterrupt: when it was interrupted before there was anything to tell.
    """
    check_bundle_place(folder, resumes=False)
    notes: list[str] = []
    with ExitStack() as held:
        held.enter_context(lock_host(tell=listener.tell_waiting))
        # Not beside the bundle: that may be in the repository, whose files checkouts must not see.
        state = find_results_folder(os.environ, is_root=os.geteuid() == 0)
        scratch = Path(held.enter_context(scratch_folder(state / "timings")))
        trees = GitTrees(asked.folder, scratch)
        chosen = choose_trees(trees, _expand(trees, asked) if asked.series else asked.revisions)
        session = held.enter_context(CommandSession(binary))
        checkouts = check_out(trees, chosen, scratch, asked.build)
        missing = [
            f"the submodule {path} of {tree.title} is missing: {GET_SUBMODULES} gets it"
            for tree in chosen
            for path in trees.list_submodules(tree)
        ]
        for caution in missing:
            # At once: it may be why a build or the command fails.
            listener.warn(caution)
        warm, timed_question, builds = prepare_revisions(
            session, question, checkouts, asked.build, listener, seed=question.seed
        )
        held.callback(clean_up, session, timed_question, notes)
        cautions: list[str] = []
        if asked.build and builds is None:
            cautions.append(
                "each build of a revision is the same however often it is built: another layout, which a "
                "change elsewhere in the program would give it, is not part of the intervals"
            )
        for caution in cautions:
            listener.warn(caution)
        from datamill.conduct.commits.origins import describe_origins

        origins: Mapping[str, PackageOrigin] = describe_origins(
            trees, chosen, asked.build, timed_question, cautions.append
        )
        timed = measure_rounds(
            session,
            timed_question,
            binary,
            folder,
            listener,
            warm,
            began_s=monotonic(),
            builds=builds,
            origins=origins,
        )
    return replace(timed, warnings=(*missing, *cautions, *timed.warnings, *notes))


def _expand(trees: GitTrees, asked: RevisionQuestion) -> list[str]:
    first, last = asked.revisions
    commits = trees.list_commits(trees.find(first).commit, trees.find(last or "HEAD").commit)
    if len(commits) > _MOST_COMMITS:
        raise InputError(
            f"there are {len(commits)} commits from {first} to {last or 'HEAD'}, and {_MOST_COMMITS} can be "
            "timed together",
            where="git",
            remedy="Take a later first one.",
        )
    shown = [commit[:SHORT_DIGITS] for commit in commits[:-1]]
    return [first, *shown, *([last] if last else [commits[-1][:SHORT_DIGITS], ""])]


def choose_trees(trees: GitTrees, revisions: Sequence[str]) -> tuple[GitTree, ...]:
    """Return the trees of revisions, in order; an empty one stands for what is not committed.

    Raises:
        InputError: when one does not exist, or two have the same files.
    """
    chosen = [trees.find(revision) if revision else trees.take_uncommitted() for revision in revisions]
    for number, tree in enumerate(chosen):
        same = next((other for other in chosen[:number] if other.tree == tree.tree), None)
        if same is not None:
            what = "nothing has changed since" if not tree.commit else f"{tree.title} has the same files as"
            raise InputError(
                f"there is nothing to compare: {what} {same.title}",
                where="git",
                remedy="Name two revisions that differ, such as HEAD~1..HEAD.",
            )
    return tuple(chosen)


def check_out(trees: GitTrees, chosen: Sequence[GitTree], scratch: Path, build: str) -> dict[str, Checkout]:
    """Write the files of each tree into a folder of its own; all paths are equally long."""
    return {
        tree.name: Checkout(trees, tree, scratch / f"{number:03d}", build)
        for number, tree in enumerate(chosen)
    }


def prepare_revisions(
    session: CommandSession,
    question: TimingQuestion,
    checkouts: Mapping[str, Checkout],
    build: str,
    listener: TimingListener,
    *,
    seed: int,
) -> tuple[WarmUp, TimingQuestion, RevisionBuilds | None]:
    """Build each revision, warm the command up in each, and plan how often it is built again.

    Raises:
        InputError: when a revision cannot be built, or the command fails.
    """
    (command,) = question.commands
    commands = tuple(
        CommandLine(name, checkout.tree.title, command.text, command.words, {}, str(checkout.directory))
        for name, checkout in checkouts.items()
    )
    question = replace(question, commands=commands)
    if build:
        for checkout in checkouts.values():
            listener.tell_building(f"building {checkout.tree.title}")
            checkout.build_first(session)
    try:
        warm = warm_up_commands(session, question, listener)
    except InputError as problem:
        if build:
            raise
        said = problem.message
        for checkout in checkouts.values():
            # Where a checkout is says nothing to people.
            said = said.replace(f"{checkout.directory}/", "")
        raise InputError(
            said,
            remedy="Each revision is checked out anew, without what git ignores: if it must be built, "
            f"say how with {argument('build', verb='time')}.",
        ) from None
    if not build:
        return warm, question, None
    execution_s = max(warm.find_time_s(command) for command in commands)
    probed = probe_builds(session, checkouts, seed, listener.tell_building)
    if not probed.differ:
        return warm, question, None
    plan = BuildPlan(choose_executions(execution_s, probed.build_s), probed.ordered)
    builds = RevisionBuilds(session, checkouts, listener.tell_building)
    return warm, replace(question, builds=plan), builds


class scratch_folder:  # noqa: N801 - used like a function
    """A folder for checkouts, gone afterwards; what a killed command left goes first.

    Args:
        parent: where it is made.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def __enter__(self) -> str:
        """Make the folder."""
        self._parent.mkdir(parents=True, exist_ok=True)
        for left in self._parent.glob(f"{_SCRATCH}*"):
            number = left.name.removeprefix(_SCRATCH).partition("-")[0]
            if number.isdigit() and not Path(f"/proc/{number}").exists():
                shutil.rmtree(left, ignore_errors=True)
        self._made = tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-", dir=self._parent)
        return self._made

    def __exit__(self, *_: object) -> None:
        """Remove it with all that was built."""
        with suppress(OSError):
            shutil.rmtree(self._made)
