"""From `git` in a table `[[package]]` or `[[load]]` to a revision of a repository."""

from __future__ import annotations

from collections.abc import Mapping

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import GitSource
from datamill.experiment.file.fields import spell_value
from datamill.experiment.file.packages.parse_command import LONGEST_COMMAND
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes

#: Keys that go with `git` alone.
GIT_KEYS = ("rev", "build")
_LONGEST = 4096


def parse_git(entry: Mapping[str, object], source: Source, section: str, index: int) -> GitSource:
    """Return the revision that a table names; whether it is there is not known yet.

    Raises:
        InputError: when repository, revision or build are not of their kind, each with its line.
    """

    def read(key: str, default: str, longest: int, example: str) -> str:
        given = entry.get(key, default)
        if (
            not isinstance(given, str)
            or "\0" in given
            or len(given) > longest
            or not (given.strip() or not default)
        ):
            raise InputError(
                f"{key} must be a text in quotes, not {spell_value(given)}",
                where=source.locate(section, key, occurrence=index),
                remedy=f"Write, say, {key} = {example}.",
            )
        return given

    def read_repository() -> str:
        repository = read("git", ".", _LONGEST, '"../repository"')
        if "://" in repository or repository.startswith("git@"):
            raise InputError(
                f"git must be a folder of this machine, not {spell_value(repository)}",
                where=source.locate(section, "git", occurrence=index),
                remedy="Clone it, and name the folder of the clone.",
            )
        return repository

    def read_revision() -> str:
        revision = read("rev", "HEAD", _LONGEST, '"HEAD~1"')
        if revision.startswith("-"):
            raise InputError(
                f"no revision is called {spell_value(revision)}",
                where=source.locate(section, "rev", occurrence=index),
                remedy='Write, say, rev = "HEAD~1", a branch, a tag or a hash.',
            )
        return revision

    mistakes = Mistakes()
    git = GitSource(
        mistakes.attempt(read_repository, "."),
        mistakes.attempt(read_revision, "HEAD"),
        mistakes.attempt(lambda: read("build", "", LONGEST_COMMAND, '"make -j2"'), ""),
    )
    mistakes.refuse()
    return git
