"""The folder that holds what was collected of a project's history.

    versions.json          versions in order, with what became of them
    programs.json          for each program the function tables of its binaries
    tables/NAME.json.gz    function tables, named by what they hold
    profiles/NAME.json.gz  profiles of a program, one a benchmark
    counts.json            instructions that benchmarks executed
    observations.parquet   executions of benchmarks; observations.jsonl: those of a session that is under way
    session.json           that session's order
    commands.json          the commands by which benchmarks were measured
    assumed_commands.json  names of benchmarks that an older datamill measured, which did not keep the command
    fleet.json             the machine of a fleet that builds and measures, where a fleet does
    submitted.json         its experiment that is under way
    model.json             the predictor that was trained
    kept/NAME/             the binaries of a program, to be measured again

A packed store (see `packed_store`) has `tables.jsonl.xz` and `profiles.jsonl.xz` in place of the folders.
"""

from __future__ import annotations

import fcntl
import gzip
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from datamill.experiment.errors import InputError
from datamill.selection.history.joined_tables import join_tables, label_programs
from datamill.selection.history.records import Observation, Program, Version, WorkCount
from datamill.selection.profiles.profile import Profile
from datamill.selection.tables.function_table import FunctionTable, decode_table, encode_table

PACKED_TABLES, PACKED_PROFILES = "tables.jsonl.xz", "profiles.jsonl.xz"
_T = TypeVar("_T")


class PackedTable(msgspec.Struct, frozen=True):
    """A function table with its name."""

    name: str
    table: FunctionTable


class ProgramProfiles(msgspec.Struct, frozen=True):
    """Profiles of a program, one a benchmark."""

    program: str
    profiles: tuple[Profile, ...]


class PlannedExecution(msgspec.Struct, frozen=True):
    """An execution of a benchmark of a program at its place in a session."""

    program: str
    benchmark: str
    place: int


class MeasuringSession(msgspec.Struct, frozen=True):
    """Executions in one random order."""

    name: str
    executions: tuple[PlannedExecution, ...]


class SelectionStore:
    """Reads and writes the folder; files are replaced whole, observations appended.

    Args:
        folder: need not exist before something is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables: dict[str, FunctionTable] = {}

    def prepare(self) -> None:
        """Make the folder, and keep git from seeing it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from collecting into the store meanwhile, and forget what was read of it before.

        Raises:
            InputError: another process does.
        """
        self.prepare()
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    "another command is collecting into it",
                    where=str(self.folder),
                    remedy="Wait for its end.",
                ) from None
            # Who had the lock before may have written what was read since.
            for name in ("versions", "programs"):
                self.__dict__.pop(name, None)
            yield

    @cached_property
    def versions(self) -> tuple[Version, ...]:
        """Collected versions in order.

        Raises:
            InputError: nothing was collected, or the file is damaged.
        """
        found = self.read_json("versions.json", tuple[Version, ...])
        if found is None:
            raise InputError(
                "holds no versions",
                where=str(self.folder),
                remedy="Collect some first: datamill selection collect.",
            )
        return found

    @property
    def is_empty(self) -> bool:
        """Whether nothing was collected yet."""
        return not (self.folder / "versions.json").exists()

    @cached_property
    def programs(self) -> Mapping[str, Program]:
        """Programs by name."""
        return {item.name: item for item in self.read_json("programs.json", tuple[Program, ...]) or ()}

    def write_versions(self, versions: Iterable[Version], programs: Iterable[Program]) -> None:
        """Replace versions and programs."""
        kept, made = tuple(versions), tuple(programs)
        self.write_json("programs.json", made)
        self.write_json("versions.json", kept)
        self.__dict__["versions"], self.__dict__["programs"] = kept, {item.name: item for item in made}

    def keep_table(self, table: FunctionTable) -> str:
        """Write a function table unless it is there; return its name."""
        import hashlib

        text = encode_table(table)
        name = hashlib.sha256(text).hexdigest()[:24]
        path = self.folder / "tables" / f"{name}.json.gz"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            _replace(path, gzip.compress(text, 6, mtime=0))
        return name

    def read_table(self, program: str) -> FunctionTable:
        """Return the joined table of a program.

        Raises:
            InputError: it is not in the store, or damaged.
        """
        if program not in self._tables:
            found = self.programs.get(program)
            if found is None:
                raise InputError(f"does not know the program {program}", where=str(self.folder))
            self._tables[program] = self.read_table_of(found)
        return self._tables[program]

    def read_table_of(self, program: Program) -> FunctionTable:
        """Return the joined table of a program that the store need not list.

        Raises:
            InputError: a table is not in the store, or damaged.
        """
        tables = {path: self.read_one_table(name) for path, name in program.tables.items()}
        return join_tables(tables, is_labelled=self._is_labelled)

    @property
    def _is_labelled(self) -> bool:
        """Whether some program has several binaries: functions of all are then named alike."""
        return any(len(item.tables) > 1 for item in self.programs.values())

    def read_one_table(self, name: str) -> FunctionTable:
        """Return the function table of that name.

        Raises:
            InputError: it is not in the store, or damaged.
        """
        path = self.folder / "tables" / f"{name}.json.gz"
        if path.exists():
            return decode_table(_decompress(path), str(path))
        if name in self._packed_tables:
            return self._packed_tables[name]
        raise InputError(
            "is not there", where=str(path), remedy="Collect the versions anew: the store is not whole."
        )

    @cached_property
    def _packed_tables(self) -> Mapping[str, FunctionTable]:
        path = self.folder / PACKED_TABLES
        lines = _read_packed(path, PackedTable) if path.exists() else []
        return {item.name: item.table for item in lines}

    def write_profiles(
        self, program: str, profiles: Iterable[Profile], *, only: Collection[str] | None = None
    ) -> None:
        """Replace the profiles of a program: all, or those of the benchmarks that `only` names.

        Raises:
            InputError: others are kept, and the file is damaged.
        """
        others = () if only is None else self._read_kept_profiles(program)
        kept = [item for item in others if only is not None and item.benchmark not in only]
        path = self.folder / "profiles" / f"{program}.json.gz"
        path.parent.mkdir(exist_ok=True)
        _replace(path, gzip.compress(msgspec.json.encode((*kept, *profiles)), 6, mtime=0))

    def has_profiles(self, program: str) -> bool:
        """Whether a program was profiled, also where no benchmark could be."""
        return (self.folder / "profiles" / f"{program}.json.gz").exists() or program in self._packed_profiles

    def read_profiles(self, program: str) -> Mapping[str, Profile]:
        """Return the profiles of a program by benchmark; none where it was not profiled."""
        found = self._read_kept_profiles(program)
        known = self.programs.get(program)
        if known is not None and len(known.tables) == 1 and self._is_labelled:
            (label,) = label_programs(known.tables).values()
            found = tuple(_label(item, label) for item in found)
        return {item.benchmark: item for item in found}

    def _read_kept_profiles(self, program: str) -> tuple[Profile, ...]:
        """The profiles of a program with the names that are in the file."""
        path = self.folder / "profiles" / f"{program}.json.gz"
        if path.exists():
            return _decode(_decompress(path), tuple[Profile, ...], path)
        return self._packed_profiles.get(program, ())

    @cached_property
    def _packed_profiles(self) -> Mapping[str, tuple[Profile, ...]]:
        path = self.folder / PACKED_PROFILES
        lines = _read_packed(path, ProgramProfiles) if path.exists() else []
        return {item.program: item.profiles for item in lines}

    def read_counts(self) -> tuple[WorkCount, ...]:
        """Return counted instructions."""
        return self.read_json("counts.json", tuple[WorkCount, ...]) or ()

    def write_counts(self, counts: Iterable[WorkCount]) -> None:
        """Replace counted instructions."""
        self.write_json("counts.json", tuple(counts))

    def read_session(self) -> MeasuringSession | None:
        """Return the session that is under way."""
        return self.read_json("session.json", MeasuringSession)

    def write_json(self, name: str, content: object) -> None:
        """Replace a file."""
        self.prepare()
        _replace(self.folder / name, msgspec.json.format(msgspec.json.encode(content), indent=1))

    def read_json(self, name: str, kind: type[_T]) -> _T | None:
        """Return what a file of the folder holds; None where it is not there.

        Raises:
            InputError: it is damaged.
        """
        path = self.folder / name
        return _decode(path.read_bytes(), kind, path) if path.exists() else None

    def append_observation(self, observation: Observation) -> None:
        """Add an observation of the session that is under way."""
        with (self.folder / "observations.jsonl").open("ab") as log:
            log.write(msgspec.json.encode(observation) + b"\n")

    def read_log(self) -> list[Observation]:
        """Return the observations of the session that is under way; a torn last line is left out."""
        path = self.folder / "observations.jsonl"
        if not path.exists():
            return []
        decoder = msgspec.json.Decoder(Observation)
        return [
            decoder.decode(line)
            for line in path.read_bytes().splitlines(keepends=True)
            if line.endswith(b"\n")
        ]

    def read_observations(self) -> list[Observation]:
        """Return all observations."""
        return [*self._read_table(), *self.read_log()]

    def _read_table(self) -> list[Observation]:
        """Observations of sessions that are closed."""
        path = self.folder / "observations.parquet"
        if not path.exists():
            return []
        # Imported late: predicting reads no observations.
        import pyarrow.parquet as pq

        return msgspec.convert(pq.read_table(path).to_pylist(), list[Observation])

    def close_session(self) -> None:
        """Move the observations of the session into the table."""
        log = self.folder / "observations.jsonl"
        if log.exists():
            self._write_observations(self.read_observations())
            log.unlink()
        (self.folder / "session.json").unlink(missing_ok=True)

    def drop_benchmarks(self, names: Collection[str]) -> None:
        """Forget what was counted and observed of benchmarks, also in the session that is under way."""
        counts = self.read_counts()
        left = [item for item in counts if item.benchmark not in names]
        if len(left) < len(counts):
            self.write_counts(left)
        log = self.read_log()
        if any(item.benchmark in names for item in log):
            lines = (msgspec.json.encode(item) + b"\n" for item in log if item.benchmark not in names)
            _replace(self.folder / "observations.jsonl", b"".join(lines))
        kept = self._read_table()
        others = [item for item in kept if item.benchmark not in names]
        if len(others) < len(kept):
            self._write_observations(others)

    def put_session(self, name: str, observations: Iterable[Observation]) -> None:
        """Put a session that was measured elsewhere into the table, in place of what there is of it."""
        others = [item for item in self.read_observations() if item.session != name]
        self._write_observations([*others, *observations])

    def _write_observations(self, observations: Iterable[Observation]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [msgspec.to_builtins(item) for item in observations]
        path = self.folder / "observations.parquet"
        made = path.with_suffix(".new")
        pq.write_table(pa.Table.from_pylist(rows), made, compression="zstd")
        made.replace(path)

    def place_programs(self, program: str) -> Path:
        """Return the folder with the binaries of a program."""
        return self.folder.absolute() / "kept" / program


def _label(profile: Profile, label: str) -> Profile:
    functions = {f"{label}: {name}": item for name, item in profile.functions.items()}
    return msgspec.structs.replace(profile, functions=functions)


def _replace(path: Path, content: bytes) -> None:
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.write_bytes(content)
    made.replace(path)


def _decompress(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"is damaged: {error}", where=str(path), remedy="Remove it and collect again."
        ) from error


def _decode(text: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"is damaged: {error}", where=str(path), remedy="Remove the store and collect again."
        ) from error


def _read_packed(path: Path, kind: type[_T]) -> list[_T]:
    import lzma

    try:
        text = lzma.decompress(path.read_bytes())
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(f"is damaged: {error}", where=str(path)) from error
    return [_decode(line, kind, path) for line in text.splitlines()]
