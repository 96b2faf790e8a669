"""The commands that a store's versions were built and its benchmarks measured by.

What was made by two commands cannot be compared: a store keeps which they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.phrases import count_nouns, join_names
from datamill.selection.history.records import Version
from datamill.selection.history.settings import BuildSetting, SelectionSettings

COMMANDS_FILE = "commands.json"
#: Names of benchmarks that were measured before their commands were kept.
ASSUMED_FILE = "assumed_commands.json"


class ResolvingHistory(Protocol):
    """A history that knows its commits by names."""

    def resolve(self, revision: str) -> str:
        """Return the hash of a commit, or raise an InputError."""


def keep_commands(settings: SelectionSettings, store: SelectionStore) -> str:
    """Write down the commands of benchmarks, and drop the failures of those that had another one.

    What is dropped is tried again, also where this call of the command ends before that. Returns which
    commands are taken for those of numbers that are there, in a sentence, or nothing.

    Raises:
        InputError: a benchmark has numbers already, and they are of another command.
    """
    kept = store.read_json(COMMANDS_FILE, dict[str, str]) or {}
    now = {item.name: item.command for item in settings.benchmark}
    others = frozenset(name for name, text in now.items() if kept.get(name, text) != text)
    assumed: list[str] = []
    if others or now.keys() - kept.keys():
        known = store.read_json(ASSUMED_FILE, tuple[str, ...]) or ()
        measured = {item.benchmark for item in store.read_counts() if item.instructions is not None}
        measured |= {item.benchmark for item in store.read_observations() if not item.failure}
        for name in sorted(others & measured):
            unless = ", or by one that the store did not keep" if name in known else ""
            raise InputError(
                f"the benchmark {name} was measured by another command: {kept[name]}{unless}",
                where=str(store.folder),
                remedy="Numbers of two commands cannot be compared: give the new command another name, "
                "or write the old one again.",
            )
        # First: commands that were written, and failures that were not dropped, would never be tried again.
        store.drop_benchmarks(others)
        assumed = sorted(measured & (now.keys() - kept.keys()))
        if assumed:
            store.write_json(ASSUMED_FILE, sorted({*known, *assumed}))
    if kept | now != kept:
        store.write_json(COMMANDS_FILE, kept | now)
    return _tell_assumed(assumed)


def _tell_assumed(names: Sequence[str]) -> str:
    if not names:
        return ""
    were, those = ("was", "it is") if len(names) == 1 else ("were", "they are")
    return (
        f"the store does not say by which command {join_names(names)} {were} measured: {those} taken for "
        "today's, and another one is refused from now on"
    )


def spell_build(settings: SelectionSettings, build: BuildSetting | None) -> str:
    """Return a digest of how a version is built and what is looked at, and one of what it does without."""
    said = (build.command if build is not None else "", *settings.list_binaries(build))
    return f"{_digest(said)} {_digest(settings.without)}"


def _digest(words: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def check_builds(settings: SelectionSettings, history: ResolvingHistory) -> None:
    """Refuse builds whose range names no commit: every version would fail.

    Raises:
        InputError: the first of these.
    """
    for number, build in enumerate(settings.build, start=1):
        for key, revision in (("since", build.since), ("until", build.until)):
            if not revision:
                continue
            try:
                history.resolve(revision)
            except InputError as error:
                where = f'[[build]] {number}: {key} = "{revision}"'
                raise InputError(error.message, where=where, remedy=error.remedy) from error


def warn_of_other_builds(versions: Mapping[str, Version], builds: Mapping[str, str]) -> str:
    """Say how many versions were built by another command than today's `builds` by commits, or nothing."""
    others = 0
    for commit, build in builds.items():
        known = versions.get(commit)
        if known is not None and known.outcome == "built" and known.build:
            others += known.build.split()[0] != build.split()[0]
    if not others:
        return ""
    were, those = ("was", "that one") if others == 1 else ("were", "those")
    return tell(
        f"{count_nouns(others, 'version')} {were} built before the settings named another command or other "
        f"binaries: what differs between {those} and the others may be the build. To build anew, name "
        f"another store: {argument('store', 'FOLDER', verb='selection collect')}"
    )


def warn_of_untried(count: int) -> str:
    """Say how many versions failed before and were not tried again, or nothing."""
    if not count:
        return ""
    were = "was" if count == 1 else "were"
    return tell(
        f"{count_nouns(count, 'version')} that failed before {were} not tried again: "
        f"{argument('retry_failed', verb='selection collect')} does that"
    )
