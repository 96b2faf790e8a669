"""Files of a git repository as they are in a commit, or as they are without having been committed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.packing.git.asked_git import RevisionError, ask_git, find_revision, last_line

#: Digits of a hash that people read.
SHORT_DIGITS = 9
#: What gets submodules that a clone lacks.
GET_SUBMODULES = "git submodule update --init --recursive"
#: What the files are called that nobody has committed.
UNCOMMITTED = "uncommitted"


@dataclass(frozen=True, slots=True)
class GitTree:
    """Files of a repository: those of a commit, or those that are there now.

    `label` is what people typed; `commit` is empty for files that are not committed.
    """

    label: str
    commit: str
    tree: str

    @property
    def name(self) -> str:
        """A short name that no two trees share, made of letters and digits."""
        return self.commit[:SHORT_DIGITS] if self.commit else f"{UNCOMMITTED}-{self.tree[:SHORT_DIGITS]}"

    @property
    def title(self) -> str:
        """What people read of it: as they typed it, and the hash where that is something else."""
        if not self.commit:
            return self.label
        if self.commit.startswith(self.label):
            return self.label[:SHORT_DIGITS]
        return f"{self.label} ({self.commit[:SHORT_DIGITS]})"


class GitTrees:
    """Finds and exports trees of one repository.

    Nothing is written into it: files that are not committed become objects of `scratch`.

    Args:
        folder: in the repository.
        scratch: a folder of ours, for objects and an index.

    Raises:
        InputError: when the folder is not in a repository that can be read, or there is no git.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        top = _ask(folder, "rev-parse", "--show-toplevel")
        if top.returncode != 0 or not top.stdout.strip():
            raise InputError(
                f"{folder} is not in a git repository with files: {last_line(top)}",
                where="git",
                remedy="Go into the folder of a clone.",
            )
        self.top = Path(os.fsdecode(top.stdout.strip()))
        #: Where in the repository the folder is: commands run there.
        self.inner = folder.resolve().relative_to(self.top.resolve())
        self._scratch = scratch
        objects = Path(os.fsdecode(_ask(folder, "rev-parse", "--git-path", "objects").stdout.strip()))
        self._objects = (folder / objects).resolve()

    def find(self, revision: str) -> GitTree:
        """Return the tree of a commit; `A...B` is the one at which these parted.

        Raises:
            InputError: when there is no such commit.
        """
        one, parted, other = revision.partition("...")
        try:
            commit = find_revision(self.top, other if parted else revision)
            if parted:
                commit = self._find_merge_base(find_revision(self.top, one), commit, revision)
        except RevisionError as error:
            raise InputError(str(error), where="git", remedy=error.remedy) from None
        tree = _ask(self.top, "rev-parse", f"{commit}^{{tree}}").stdout.decode().strip()
        return GitTree(commit[:SHORT_DIGITS] if parted else revision, commit, tree)

    def _find_merge_base(self, one: str, other: str, revision: str) -> str:
        found = _ask(self.top, "merge-base", one, other).stdout.decode().strip()
        if not found:
            raise RevisionError(
                f"{revision} have no commit in common",
                "rev",
                "A shallow clone lacks it: git fetch --unshallow gets all of it.",
            )
        return found

    def has(self, revision: str) -> bool:
        """Tell whether there is a commit of that name."""
        found = _ask(
            self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        return found.returncode == 0

    @property
    def is_shallow(self) -> bool:
        """Whether older commits are not there."""
        return _ask(self.top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def list_commits(self, first: str, last: str) -> list[str]:
        """Return the commits after one up to another, the oldest first, along first parents."""
        told = _ask(self.top, "rev-list", "--first-parent", "--reverse", f"{first}..{last}")
        return told.stdout.decode().split()

    def describe(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        told = _ask(self.top, "log", "-1", "--format=%s", commit)
        return told.stdout.decode(errors="replace").strip()

    def take_uncommitted(self) -> GitTree:
        """Return the files as they are, those that git does not know but does not ignore among them.

        Raises:
            InputError: when a file cannot be read.
        """
        index = self._scratch / "index"
        own = Path(os.fsdecode(_ask(self.top, "rev-parse", "--git-path", "index").stdout.strip()))
        if (self.top / own).exists():
            # With the times that git knows, it reads only the files that changed.
            # And with its own time, by which it knows which files may have changed within the same second.
            shutil.copy2(self.top / own, index)
        settings = self._settings(index)
        for arguments in (("add", "--all"), ("write-tree",)):
            told = _ask(self.top, *arguments, settings=settings)
            if told.returncode != 0:
                raise InputError(
                    f"what is not committed in {self.top} cannot be read: {last_line(told)}",
                    where="git",
                    remedy="See whether git status works there.",
                )
        return GitTree(UNCOMMITTED, "", told.stdout.decode().strip())

    def export(self, tree: GitTree, folder: Path) -> None:
        """Write the files of a tree into a folder as a checkout would, whatever archives leave out.

        Submodules come from their clones in the user's files, as far as these have the commit.

        Raises:
            InputError: when git cannot write them.
        """
        folder.mkdir(parents=True, exist_ok=True)
        index = self._scratch / f"index-{tree.name}"
        settings = self._settings(index)
        for arguments in (
            ("read-tree", tree.tree),
            ("--work-tree", str(folder.absolute()), "checkout-index", "--all", "--force"),
        ):
            told = _ask(self.top, *arguments, settings=settings)
            if told.returncode != 0:
                raise InputError(
                    f"{tree.title} cannot be checked out: {last_line(told)}",
                    where="git",
                    remedy="A clone that is partial or damaged lacks files: clone it anew.",
                )
        index.unlink(missing_ok=True)
        for path, commit in self._list_links(tree):
            if (submodule := self._open_submodule(path, commit)) is not None:
                submodule.export(submodule.find(commit), folder / path)

    def list_submodules(self, tree: GitTree) -> list[str]:
        """Return the paths of submodules that are not there: what is exported lacks their files."""
        missing = []
        for path, commit in self._list_links(tree):
            submodule = self._open_submodule(path, commit)
            if submodule is None:
                missing.append(path)
            else:
                missing += [f"{path}/{inner}" for inner in submodule.list_submodules(submodule.find(commit))]
        return missing

    def _open_submodule(self, path: str, commit: str) -> GitTrees | None:
        """A clone in the user's files that has a submodule's commit, and so its files; None without one.

        A submodule that was moved since lies where it is now.
        """
        for place in dict.fromkeys((self.top / path, *self.submodules)):
            if not (place / ".git").exists():
                continue
            scratch = self._scratch / "submodules" / place.relative_to(self.top)
            scratch.mkdir(parents=True, exist_ok=True)
            submodule = GitTrees(place, scratch)
            if submodule.has(commit):
                return submodule
        return None

    @cached_property
    def submodules(self) -> tuple[Path, ...]:
        """Where submodules are in the files that are checked out now."""
        told = _ask(self.top, "ls-files", "--stage", "-z", "--full-name", ":/")
        links = [line.split(b"\t", 1)[1] for line in told.stdout.split(b"\0") if line.startswith(b"160000 ")]
        return tuple(self.top / os.fsdecode(path) for path in links)

    def _list_links(self, tree: GitTree) -> list[tuple[str, str]]:
        """The path and the commit of each submodule."""
        told = _ask(self.top, "ls-tree", "-r", "-z", "--full-tree", tree.tree, settings=self._settings(None))
        links = [entry.split(b"\t", 1) for entry in told.stdout.split(b"\0") if entry.startswith(b"160000 ")]
        return [(os.fsdecode(path), facts.split()[2].decode()) for facts, path in links]

    def _settings(self, index: Path | None) -> dict[str, str]:
        objects = self._scratch / "objects"
        objects.mkdir(exist_ok=True)
        settings = {
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self._objects),
        }
        return settings if index is None else settings | {"GIT_INDEX_FILE": str(index)}


def _ask(
    folder: Path, *arguments: str, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    try:
        return ask_git(folder, *arguments, settings=settings)
    except RevisionError as error:
        raise InputError(str(error), where="git", remedy=error.remedy) from None
