"""One revision's files on disk: built, linked again and again in another order, each result kept apart."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from datamill.conduct.timing.builds import Built
from datamill.conduct.timing.executions import read_last_words, strip_colours
from datamill.conduct.timing.question import LINK_ORDER
from datamill.execution.command_session import CommandSession
from datamill.execution.placing.page_cache import can_place, place_anew
from datamill.experiment.command_lines import list_words
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.packing.git.git_trees import GitTree, GitTrees
from datamill.protocol.commands import BuildRequest, CommandAnswer, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION, BuildFacts

_ELF = b"\x7fELF"
#: Place of the type in the head of an ELF file, and types that are executed or loaded, in either byte order.
_TYPE_AT, _LOADED = 16, (b"\2\0", b"\3\0", b"\0\2", b"\0\3")
#: Beginnings of static libraries, with their members or with the names of these.
_ARCHIVES = (b"!<arch>\n", b"!<thin>\n")
#: What cargo builds in order to build with it, in a folder that has its notes: scripts, and macros of crates.
_CARGO_NOTES = ".fingerprint"
_BUILDS_FOR_CARGO = re.compile(r"build/.+|deps/lib[^/]+-[0-9a-f]{16}\.(so|a)")
#: The build that comes first, which is not measured.
FIRST = 0
#: What of a build's last words a message quotes, and what of its standard output behind errors.
_QUOTED_CHARACTERS, _QUOTED_BEHIND = 800, 400
#: What a make that started us tells those that it starts itself: no build of a revision is one of these.
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")


class Checkout:
    """The files of one revision, in a folder of their own.

    The first build makes everything. Each later one removes what is executed or loaded, and the static
    libraries that it may be linked from, and asks for it again with another order of objects: a build system
    then links and no more. Where it cannot link without those libraries, or compiles again for them, they
    stay. What cargo executes or loads in order to build stays as well: without it, all crates would be
    compiled again. What is not made again stays that of the first; if nothing is made again, all is built
    anew. What a build made is kept, and comes back under its own name when it is measured, so that paths are
    the same for all. All runs in the folder of the revision that corresponds to the one where the user is.

    Args:
        trees: of the repository.
        tree: which files.
        folder: where they go; does not exist yet.
        build: command line; empty where nothing is built.
        where: the build is written, for messages; else that is the option of `datamill time`.
    """

    def __init__(self, trees: GitTrees, tree: GitTree, folder: Path, build: str, *, where: str = "") -> None:
        self.tree = tree
        self._trees, self._build = trees, build
        self._where = where
        self._folder = folder
        self._files, self._kept, self._tools = folder / "files", folder / "kept", folder / "tools"
        self._printed, self._libraries = folder / "printed", folder / "libraries"
        self.directory = self._files / trees.inner
        self._made: list[Path] = []
        self._in_place = FIRST
        self.builds: dict[int, Built] = {}
        trees.export(tree, self._files)
        self._given = self._list_files(_is_linked)
        self._archives: list[Path] = []
        self._compiles, self._libraries_link = 0, False
        if not self.directory.is_dir():
            raise InputError(
                f"{tree.title} has no folder {trees.inner}",
                where="git",
                remedy="Go into a folder that both revisions have.",
            )

    @property
    def made(self) -> int:
        """How many files that are executed or loaded a build makes."""
        return len(self._made)

    def build_first(self, session: CommandSession) -> Built:
        """Build everything, in the order that the build system has.

        Raises:
            InputError: when the revision cannot be built.
        """
        given = self._list_files(_is_archive)
        answer = self._run_build(session, "default", 0)
        made = set(self._list_files(_is_archive)) - set(given)
        # In a folder that nobody may write to, as Go keeps modules, nothing can be removed.
        self._archives = sorted(path for path in made if os.access(path.parent, os.W_OK))
        self._compiles = _count_compiles(answer)
        for path in self._archives:
            _copy(path, self._libraries / path.relative_to(self._files))
        return self._finish(FIRST, answer)

    def build_again(self, session: CommandSession, number: int, seed: int) -> Built:
        """Make a numbered build in an order drawn from its seed, and keep what it made.

        Raises:
            InputError: when it fails.
        """
        if number in self.builds:
            return self.builds[number]
        answer = self._link_again(session, seed)
        missing = {path: self._find_first(path) for path in self._made if not path.exists()}
        whole = all(first.is_file() for first in missing.values())
        if answer is None or len(missing) == len(self._made) or not whole:
            shutil.rmtree(self._files)
            self._trees.export(self.tree, self._files)
            answer = self._run_build(session, "random", seed)
        else:
            # Such as what a configuration tried out.
            for path, first in missing.items():
                _copy(first, path)
        return self._finish(number, answer)

    def _link_again(self, session: CommandSession, seed: int) -> CommandAnswer | None:
        """Have what is linked made again, from static libraries in another order where that is possible."""
        while self._archives:
            answer = self._make_again(session, seed, self._archives)
            staying = [path for path in self._archives if answer is None or not path.exists()]
            if answer is not None and not staying:
                if self._only_links(session, seed, answer):
                    return answer
                staying = self._archives
            # Linked without a library that was there, a program is another one: again, with those that stay.
            for path in staying:
                _copy(self._libraries / path.relative_to(self._files), path)
            self._archives = [path for path in self._archives if path not in staying]
        return self._make_again(session, seed, [])

    def _make_again(
        self, session: CommandSession, seed: int, libraries: Sequence[Path]
    ) -> CommandAnswer | None:
        """Remove what is linked, and these libraries, and ask for all; None where that fails."""
        for path in (*self._made, *libraries):
            path.unlink(missing_ok=True)
        try:
            return self._run_build(session, "random", seed)
        except InputError:
            return None

    def _only_links(self, session: CommandSession, seed: int, answer: CommandAnswer) -> bool:
        """Whether making the libraries again compiles little; known once a build has been made both ways.

        What a configuration tries out is compiled by each build, with and without them.
        """
        compiles = _count_compiles(answer)
        if self._libraries_link or not compiles:
            return True
        without = self._make_again(session, seed, [])
        if without is None:
            return False
        always = _count_compiles(without)
        self._libraries_link = 2 * (compiles - always) <= self._compiles - always
        return self._libraries_link

    def _finish(self, number: int, answer: CommandAnswer) -> Built:
        """Note and keep what was made."""
        self._made = sorted(set(self._list_files(_is_linked)) - set(self._given))
        digest = hashlib.sha256()
        # Libraries as well: newer than what is put in its place, they would have a make link it again.
        libraries = [path for path in self._archives if number != FIRST and path.exists()]
        for path in (*self._made, *libraries):
            # A copy: a build may write again into the files that it finds.
            _copy(path, self._kept / str(number) / path.relative_to(self._files))
        for path in self._made:
            digest.update(os.fsencode(path.relative_to(self._files)) + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        assert answer.run is not None
        assert answer.build is not None
        facts = BuildFacts(
            id=f"{self.tree.name}-{number}",
            policy="shared",
            reused=False,
            setup=answer.run,
            compiler=answer.build.compiler,
            executables_sha256=answer.build.executables_sha256,
        )
        built = Built(facts, answer.factors, digest.hexdigest(), answer.run.wall_time_ns / 1e9)
        self.builds[number] = built
        self._in_place = number
        return built

    def put(self, number: int) -> None:
        """Put what a numbered build made in its place; anew, where it was there."""
        if self._in_place == number:
            self.place_anew()
            return
        if number not in self.builds:
            return
        folder = self._kept / str(number)
        for kept in sorted(path for path in folder.rglob("*") if path.is_file()):
            place = self._files / kept.relative_to(folder)
            new = place.with_name(f".{place.name}.datamill")
            new.unlink(missing_ok=True)
            os.link(kept, new)
            new.replace(place)
            # Of two names of one file the kernel leaves both.
            new.unlink(missing_ok=True)
        if number == FIRST:
            for path in self._archives:
                _copy(self._libraries / path.relative_to(self._files), path)
        self._in_place = number

    def place_anew(self) -> None:
        """Have the kernel keep the build in place in other pages of its memory."""
        place_anew(self._made)

    def can_be_placed(self) -> bool:
        """Return whether `place_anew` places all of the build."""
        return can_place(self._made)

    def forget(self, number: int) -> None:
        """Remove what is kept of a build that is not measured any more; later ones need the first."""
        if number != FIRST:
            shutil.rmtree(self._kept / str(number), ignore_errors=True)

    def _find_first(self, path: Path) -> Path:
        return self._kept / str(FIRST) / path.relative_to(self._files)

    def _run_build(self, session: CommandSession, order: str, seed: int) -> CommandAnswer:
        answer = session.measure(
            CommandRequest(
                schema=SCHEMA_VERSION,
                command=list_words(self._build, shell=True),
                directory=str(self.directory),
                variables={name: "" for name in _OF_MAKE if name in os.environ},
                input=None,
                output="file",
                output_file=str(self._printed),
                timeout_s=0.0,
                levels={LINK_ORDER: order},
                build=BuildRequest(str(self._tools), seed),
            )
        )
        run = answer.run
        if answer.failure is not None or answer.build is None or run is None or run.exit_code != 0:
            # Where a checkout is says nothing to people.
            said = _describe(answer, self._printed).replace(f"{self._files}/", "")
            raise InputError(
                f"{self.tree.title} cannot be built: {said}",
                where=self._where or argument("build", verb="time"),
                remedy="Run it in a fresh clone to see why: what git ignores is not there.",
            )
        return answer

    def _list_files(self, belongs: Callable[[Path], bool]) -> list[Path]:
        return [
            path
            for folder, _, names in os.walk(self._files)
            for path in (Path(folder, name) for name in names)
            if belongs(path) and not self._serves_cargo(path)
        ]

    def _serves_cargo(self, path: Path) -> bool:
        """Whether a file is one with which cargo builds, and nothing that is measured."""
        inner = path.relative_to(self._files)
        return any(
            _BUILDS_FOR_CARGO.fullmatch(inner.relative_to(folder).as_posix()) is not None
            and (self._files / folder / _CARGO_NOTES).is_dir()
            for folder in list(inner.parents)[1:]
        )


def _is_linked(path: Path) -> bool:
    """Whether a file is an executable or a shared object of ELF, and no link to one."""
    with contextlib.suppress(OSError):
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            head = file.read(_TYPE_AT + 2)
        return head.startswith(_ELF) and head[_TYPE_AT:] in _LOADED
    return False


def _is_archive(path: Path) -> bool:
    """Whether a file is a static library, and no link to one."""
    with contextlib.suppress(OSError):
        if path.suffix == ".a" and stat.S_ISREG(path.lstat().st_mode):
            with path.open("rb") as file:
                return file.read(len(_ARCHIVES[0])) in _ARCHIVES
    return False


def _count_compiles(answer: CommandAnswer) -> int:
    return 0 if answer.build is None else answer.build.compiler.compiles


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # It may be one that nobody may write to.
    target.unlink(missing_ok=True)
    shutil.copy2(source, target)


def _describe(answer: CommandAnswer, printed: Path) -> str:
    if answer.failure is not None:
        return f"{answer.failure.message} {answer.failure.remedy}".strip()
    said = _quote(strip_colours(answer.stderr_tail).strip(), read_last_words(printed))
    run = answer.run
    if run is not None and run.signal is not None:
        return f"it was ended by signal {run.signal}{said}"
    return f"it ended with status {run.exit_code if run is not None else '?'}{said}"


def _quote(errors: str, output: str) -> str:
    """What a build said last: its errors first, since some, such as Maven, tell them on standard output."""
    if not errors:
        return f'; it said: "{output[-_QUOTED_CHARACTERS:]}"' if output else ""
    behind = f'; its output ends: "{output[-_QUOTED_BEHIND:]}"' if output else ""
    return f'; it said: "{errors[-_QUOTED_CHARACTERS:]}"{behind}'
