"""The append-only log of trial records: one JSON line each, on disk before the next trial starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from datamill.design.garbage_pause import pause_garbage_collection
from datamill.experiment.errors import InputError
from datamill.results.trial_record import READ_VERSIONS, TrialRecord

_DECODER = msgspec.json.Decoder(TrialRecord)
_ENCODER = msgspec.json.Encoder()
_DAMAGED = "If this is a line of a log: keep a copy, remove the line, and --resume attempts its trial again."


def decode_record(line: bytes, *, where: str) -> TrialRecord:
    """Return the trial record in a JSON text.

    Raises:
        InputError: when it is not a record of this version; the message names the field.
    """
    try:
        record = _DECODER.decode(line)
    except msgspec.MsgspecError as error:
        raise InputError(f"not a trial record: {error}", where=where, remedy=_DAMAGED) from None
    except UnicodeDecodeError:
        raise InputError("not a trial record: it is not UTF-8", where=where, remedy=_DAMAGED) from None
    if record.schema not in READ_VERSIONS:
        read = f"{', '.join(map(str, READ_VERSIONS[:-1]))} and {READ_VERSIONS[-1]}"
        raise InputError(f"the record has schema {record.schema}, this datamill reads {read}", where=where)
    return record


def read_log(path: Path) -> list[TrialRecord]:
    """Return all records of a log in the order in which they arrived.

    A last line without its newline was cut off by a crash; it is passed over, since its trial was
    never reported as done.

    Raises:
        InputError: when a whole line is not a record; the message names the line.
    """
    if not path.exists():
        return []
    with path.open("rb") as lines, pause_garbage_collection():
        return [
            decode_record(line, where=f"{path}:{number}")
            for number, line in enumerate(lines, start=1)
            if line.endswith(b"\n")
        ]


def measure_log(path: Path) -> tuple[int, int]:
    """Return how many whole lines a log has, and how many bytes it was when they were counted."""
    lines = size = 0
    if path.exists():
        with path.open("rb") as content:
            while piece := content.read(1 << 20):
                lines += piece.count(b"\n")
                size += len(piece)
    return lines, size


def append_records(path: Path, records: Sequence[TrialRecord]) -> None:
    """Append records and return when they are on disk; see `append_lines`."""
    append_lines(path, _ENCODER.encode_lines(records))


def append_lines(path: Path, lines: bytes) -> None:
    """Append whole lines and return when they are on disk; a torn last line is cut off first.

    Raises:
        OSError: when the disk is full or fails; the file then still ends in a whole line.
    """
    content = memoryview(lines)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        end = _find_end_of_last_line(handle)
        os.ftruncate(handle, end)
        try:
            written = 0
            while written < len(content):
                written += os.pwrite(handle, content[written:], end + written)
            os.fdatasync(handle)
        except OSError:
            os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)


def _find_end_of_last_line(handle: int) -> int:
    """Return the offset just after the last newline, reading backwards from the end."""
    end = os.fstat(handle).st_size
    while end > 0:
        start = max(0, end - 65536)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
