"""Packages that are a revision of a git repository and a command in its files, written as folders."""

from __future__ import annotations

import os
import shlex
import tarfile
from collections.abc import Callable
from pathlib import Path

from datamill.experiment.experiment import CommandSource
from datamill.packing.command_packages import spell_command, write_script
from datamill.packing.git.asked_git import RevisionError, ask_git, last_line

#: Where the files of the revision are in the package.
_TREE = "checkout"

_SETUP = """\
#!/bin/sh
cd {tree} || exit 125
/bin/sh -c {build} || {{
    status=$?
    echo {message} >&2
    exit $status
}}
"""


def write_git_package(
    folder: Path, command: CommandSource, repository: Path, revision: str, build: str
) -> None:
    """Write the package of a revision: its files as `git archive` exports them, built and run where they are.

    Args:
        folder: of the package, which does not exist yet.
        command: what is measured; it runs in the files.
        repository: where the revision is.
        revision: full hash of a commit.
        build: command line of `setup.sh`; empty when nothing is built.

    Raises:
        RevisionError: when git cannot export the revision.
    """
    write_built_package(
        folder,
        command,
        lambda tree: _export(repository, revision, tree),
        title=f"revision {revision} of {repository.name}",
        build=build,
    )


def write_built_package(
    folder: Path, command: CommandSource, export: Callable[[Path], None], *, title: str, build: str
) -> None:
    """Write the package of files that are built and run where they are.

    Args:
        folder: of the package, which does not exist yet.
        command: what is measured; it runs in the files.
        export: writes the files into a folder that does not exist yet.
        title: what the files are called where they cannot be built.
        build: command line of `setup.sh`; empty when nothing is built.
    """
    folder.mkdir(parents=True)
    export(folder / _TREE)
    if build.strip():
        message = f"datamill: {title} could not be built."
        text = _SETUP.format(tree=_TREE, build=shlex.quote(build), message=shlex.quote(message))
        write_script(folder / "setup.sh", text)
    write_script(folder / "run.sh", f"#!/bin/sh\ncd {_TREE} || exit 125\nexec {spell_command(command)}\n")


def list_submodules(repository: Path, revision: str) -> list[str]:
    """Return what a revision has in submodules, whose files `git archive` leaves out."""
    told = ask_git(repository, "ls-tree", "-r", "-z", "--full-tree", revision).stdout
    paths = (entry.split(b"\t", 1)[1] for entry in told.split(b"\0") if entry.startswith(b"160000 "))
    return [f"the submodule {os.fsdecode(path)}: git archive leaves its files out" for path in paths]


def list_uncommitted(repository: Path, revision: str) -> list[str]:
    """Return whether the repository has changes beside the revision that is checked out, as one phrase."""
    if ask_git(repository, "rev-parse", "HEAD").stdout.decode().strip() != revision:
        return []
    changed = ask_git(repository, "diff-index", "--quiet", "HEAD").returncode == 1
    return [f"the changes in {repository} that are not committed"] if changed else []


def _export(repository: Path, revision: str, tree: Path) -> None:
    tree.mkdir()
    archive = tree.with_suffix(".tar")
    # From the top, wherever in the repository its folder was named.
    top = ask_git(repository, "rev-parse", "--show-toplevel").stdout.decode(errors="surrogateescape").strip()
    made = ask_git(
        Path(top or repository), "archive", "--format=tar", f"--output={archive.absolute()}", revision
    )
    if made.returncode != 0:
        raise RevisionError(
            f"revision {revision} cannot be exported: {last_line(made)}",
            "git",
            "A clone that is partial or damaged lacks files: clone it anew.",
        )
    with tarfile.open(archive) as members:
        for member in members:
            path = tree / member.name
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.issym():
                path.symlink_to(member.linkname)
            elif member.isfile() and (content := members.extractfile(member)) is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
                path.chmod(0o755 if member.mode & 0o111 else 0o644)
    archive.unlink()
