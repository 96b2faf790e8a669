"""One version built in a clean checkout, its binaries read and kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from datamill.conduct.selection.collecting.commands import HERE, HERE_VARIABLE, hide_folders, spell_here
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.store.kept_binaries import keep_binaries
from datamill.conduct.selection.store.kept_commands import spell_build
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.execution.command_session import CommandSession
from datamill.experiment.command_lines import list_words
from datamill.experiment.errors import InputError
from datamill.packing.git.git_trees import GET_SUBMODULES, GitTrees
from datamill.protocol.commands import CommandAnswer, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION
from datamill.selection.history.records import Outcome, Program
from datamill.selection.history.settings import BuildSetting, SelectionSettings

#: What a make that started us tells those that it starts itself.
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
#: Programs that write the time of their build get the same one each time: their binaries are then equal.
BUILD_TIME = "1000000000"
#: Why a commit without a build is no version.
NO_BUILD = "no build of the settings is for this commit"
_QUOTED_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class BuiltVersion:
    """What became of a version: its program, or why it has no program."""

    outcome: Outcome
    program: Program | None = None
    reason: str = ""
    build_s: float = 0.0


def choose_build(settings: SelectionSettings, history: GitHistory, commit: str) -> BuildSetting | None:
    """Return the build of a commit: the last whose range holds it; None where nothing is built."""
    for build in reversed(settings.build):
        starts = not build.since or history.is_ancestor(history.resolve(build.since), commit)
        ended = build.until and history.is_ancestor(history.resolve(build.until), commit)
        if starts and not ended:
            return build
    return None


def spell_builds(settings: SelectionSettings, history: GitHistory, commits: Sequence[str]) -> dict[str, str]:
    """Return by what each commit is built (`spell_build`), asked of git once for all of them."""
    named = [item for build in settings.build for item in (build.since, build.until) if item]
    parents = history.read_parents(commits) if named else {}
    after = {item: _list_descendants(history.resolve(item), parents) for item in dict.fromkeys(named)}

    def choose(commit: str) -> BuildSetting | None:
        for build in reversed(settings.build):
            starts = not build.since or commit in after[build.since]
            if starts and not (build.until and commit in after[build.until]):
                return build
        return None

    return {commit: spell_build(settings, choose(commit)) for commit in commits}


def _list_descendants(commit: str, parents: Mapping[str, Collection[str]]) -> set[str]:
    """The commit and those that descend from it; each is named before its parents."""
    found = {commit}
    for name in reversed(list(parents)):
        if not found.isdisjoint(parents[name]):
            found.add(name)
    return found


def build_version(
    commit: str,
    settings: SelectionSettings,
    history: GitHistory,
    store: SelectionStore,
    session: CommandSession,
    here: Path,
) -> BuiltVersion:
    """Check a commit out, build it, read its binaries and keep them.

    All versions are built in the same folder, so that paths that compilers put in do not differ. `here` is
    the folder of the settings, where a build may find a driver of the project.
    """
    work = store.folder.absolute() / "work"
    source = work / "source"
    made = _build_in(work, source, commit, settings, history, store, session, here)
    folders = {here: HERE, source: "", history.top: "."} if history.top != here else {source: "", here: "."}
    return replace(made, reason=hide_folders(made.reason, folders))


def _build_in(
    work: Path,
    source: Path,
    commit: str,
    settings: SelectionSettings,
    history: GitHistory,
    store: SelectionStore,
    session: CommandSession,
    here: Path,
) -> BuiltVersion:
    shutil.rmtree(work, ignore_errors=True)
    (work / "git").mkdir(parents=True)
    try:
        check_out(history, commit, source, work / "git", settings.without)
        build = choose_build(settings, history, commit)
        if build is None and settings.build:
            return BuiltVersion("failed", reason=NO_BUILD)
        seconds = 0.0
        if build is not None:
            answer = _run_build(build, settings, source, session, here)
            seconds = answer.run.wall_time_ns / 1e9 if answer.run is not None else 0.0
            if answer.failure is not None or answer.run is None or answer.run.exit_code != 0:
                return BuiltVersion("failed", reason=_describe(answer), build_s=seconds)
        paths = settings.list_binaries(build)
        return read_binaries(source, paths, settings.keep, store, seconds)
    except InputError as error:
        return BuiltVersion("failed", reason=describe_refusal(error))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def read_binaries(
    source: Path, paths: tuple[str, ...], keep: tuple[str, ...], store: SelectionStore, seconds: float
) -> BuiltVersion:
    """Read and keep the binaries that a build of so many seconds left below a folder."""
    missing = [path for path in paths if not (source / path).is_file()]
    if missing:
        return BuiltVersion("failed", reason=f"the build makes no {', '.join(missing)}", build_s=seconds)
    try:
        return BuiltVersion("built", keep_binaries(source, paths, keep, store), build_s=seconds)
    except InputError as error:
        where = error.where.removeprefix(f"{source}/")
        hint = ". Libtool puts programs into .libs" if b"libtool" in _read_head(source / where) else ""
        return BuiltVersion("unreadable", reason=f"{where}: {error.message}{hint}", build_s=seconds)


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def check_out(
    history: GitHistory, commit: str, folder: Path, scratch: Path, without: Collection[str] = ()
) -> None:
    """Write the files of a commit into a folder, those of submodules too.

    Raises:
        InputError: a submodule that is not among `without` is not in the user's files, or lacks its commit.
    """
    trees = GitTrees(history.top, scratch)
    tree = trees.find(commit)
    trees.export(tree, folder)
    for path in trees.list_submodules(tree):
        if path in without:
            continue
        if (history.top / path / ".git").exists():
            raise InputError(
                f"the submodule {path} lacks the commit that is wanted",
                remedy=f"Get its history: git -C {path} fetch.",
            )
        without_it = f'If the build does without it, write without = ["{path}"] into the settings.'
        now = [str(place.relative_to(trees.top)) for place in trees.submodules]
        if any(f"{path}/".startswith(f"{place}/") for place in now):
            raise InputError(
                f"the submodule {path} is not here", remedy=f"Get it: {GET_SUBMODULES}. {without_it}"
            )
        message = f"the submodule that was at {path} is not there any more"
        if not now:
            way = f"Get it: git checkout {commit[:9]} && {GET_SUBMODULES}, then return to your branch."
            raise InputError(message, remedy=f"{way} {without_it}")
        place = now[0] if len(now) == 1 else "PATH"
        raise InputError(
            f"{message}, and no other has its commit",
            remedy=f"If it was moved, get its history where it is now: {GET_SUBMODULES}, and then "
            f"git -C {place} fetch. {without_it}",
        )


def _run_build(
    build: BuildSetting, settings: SelectionSettings, source: Path, session: CommandSession, here: Path
) -> CommandAnswer:
    return session.measure(
        CommandRequest(
            schema=SCHEMA_VERSION,
            command=list_words(spell_here(build.command), shell=True),
            directory=str(source),
            variables={
                # The checkout lies in the user's repository, whose state it must not ask for.
                "GIT_CEILING_DIRECTORIES": str(source.parent),
                "SOURCE_DATE_EPOCH": BUILD_TIME,
                HERE_VARIABLE: str(here),
                **{name: "" for name in _OF_MAKE if name in os.environ},
            },
            input=None,
            output="read",
            output_file=None,
            timeout_s=settings.build_timeout_s,
            levels={},
        )
    )


def _describe(answer: CommandAnswer) -> str:
    if answer.failure is not None:
        return f"{answer.failure.message} {answer.failure.remedy}".strip()
    run = answer.run
    if run is None:
        return "the build could not be measured"
    return describe_failed_build(
        answer.stderr_tail, timed_out=run.timed_out, signal=run.signal, exit_code=run.exit_code
    )


def describe_refusal(error: InputError) -> str:
    """Return why a version was refused, in a line: what is wrong, and what to do."""
    lines = str(error).splitlines()
    return ". ".join(" ".join(line.split()).removesuffix(".") for line in lines)


def describe_failed_build(
    stderr_tail: str, *, timed_out: bool, signal: int | None, exit_code: int | None
) -> str:
    """Return how a build ended, and what it said last."""
    words = " ".join(stderr_tail.split())[-_QUOTED_CHARACTERS:]
    said = f'; it said: "{words}"' if words else ""
    if timed_out:
        return f"the build takes longer than it may{said}"
    if signal is not None:
        return f"the build was ended by signal {signal}{said}"
    return f"the build ended with status {exit_code}{said}"
