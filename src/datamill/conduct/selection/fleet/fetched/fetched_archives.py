"""What packages of a fleet's experiment sent home, read without trust."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from datamill.conduct.fleet.coordinator_records import read_record
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_size
from datamill.packing.members import list_members
from datamill.packing.unpacking import unpack_members
from datamill.protocol.trial import TrialRecord
from datamill.results.trials.log import decode_record

#: Most that an archive may hold: a script may have meant to fill the disk.
_MOST_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class FetchedTrial:
    """A trial outside the design that is done: its record, the machine that made it, its folder."""

    record: TrialRecord
    machine: str
    folder: Path

    @property
    def archive(self) -> Path | None:
        """What its scripts collected; None where they did not."""
        # The name is what a worker wrote: it leads nowhere else.
        return None if self.record.archive is None else self.folder / Path(self.record.archive.file).name

    def read_tail(self, name: str) -> str:
        """Return the end of what a script wrote, such as `setup.err`; empty where nothing came home."""
        try:
            return (self.folder / name).read_bytes()[-4096:].decode(errors="replace")
        except OSError:
            return ""


class _DebugLine(msgspec.Struct, frozen=True):
    """A line of `debug.jsonl`: one attempt outside the design."""

    trial_id: str
    attempt: int
    purpose: str
    worker: str
    state: str
    record: msgspec.Raw


def read_debug_trials(bundle: Path) -> list[FetchedTrial]:
    """Return the debug trials of a fetched bundle that are done, in the order in which they ended.

    Raises:
        InputError: the file is damaged.
    """
    file = bundle / "debug.jsonl"
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        told = read_record(line, _DebugLine, str(file))
        if told.purpose == "debug" and told.state == "done":
            record = decode_record(bytes(told.record), where=str(file))
            folder = name_artifacts(bundle, record.trial_id, record.attempt)
            found.append(FetchedTrial(record, told.worker, folder))
    return found


def find_in_bundle(bundle: Path, path: str) -> Path:
    """Return the place of a file that a bundle names.

    Raises:
        InputError: the name leads outside of the bundle.
    """
    named = PurePosixPath(path)
    if named.is_absolute() or ".." in named.parts:
        raise InputError(f'the bundle names "{path}", which is not in it', where=str(bundle))
    return bundle / named


def name_artifacts(bundle: Path, trial_id: str, attempt: int) -> Path:
    """Return the folder of what an attempt left."""
    return bundle / "artifacts" / f"{trial_id}.{attempt}"


@contextmanager
def unpacked(archive: Path, folder: Path) -> Iterator[Path]:
    """Unpack an archive into a folder that is there meanwhile, with nothing outside of it.

    Raises:
        InputError: it cannot be read, reaches outside, or is too large.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        size = sum(member.size_bytes for member in list_members(archive, ()))
        if size > _MOST_BYTES:
            raise InputError(f"holds {format_size(size)}", where=archive.name)
        try:
            unpack_members(archive, folder)
        except OSError as error:
            raise InputError(f"cannot be unpacked: {error.strerror}", where=archive.name) from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
