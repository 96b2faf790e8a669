"""The append-only log of trial records: one JSON line each, on disk before the next trial starts.

Each line carries a checksum over itself and the line before it (`log_lines.py`), so that a changed, removed
or inserted line is found. A line that is beyond repair is emptied: its trial is attempted again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from datamill.design.garbage_pause import pause_garbage_collection
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.protocol.trial import READ_VERSIONS, TrialRecord
from datamill.results.trials.log_lines import NO_LINE, read_seal, seal_record

_DECODER = msgspec.json.Decoder(TrialRecord)
_ENCODER = msgspec.json.Encoder()
_DAMAGED = (
    "If this is a line of a log: keep a copy of the log, replace the line by an empty one, and "
    f"{argument('resume', verb='run')} attempts its trial again."
)
_CHANGED = (
    "Restore the log from a copy. Without one, keep a copy as it is and replace the line by an empty one: "
    f"{argument('resume', verb='run')} attempts its trial again."
)
_MISSING = (
    "Restore the log from a copy. Without one, keep a copy as it is and put an empty line before this one: "
    f"{argument('resume', verb='run')} attempts the trials again that are missing."
)


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


def read_log(path: Path, *, sealed: bool = False) -> list[TrialRecord]:
    """Return all records of a log in the order in which they arrived.

    A last line without its newline was cut off by a crash; it is passed over, since its trial was
    never reported as done. Empty lines are passed over. With `sealed` every line must carry its checksum;
    else lines of older versions, which have none, may come first.

    Raises:
        InputError: when a whole line is not a record, or is not as it was written, or lines before it are
            missing; the message names the line.
    """
    if not path.exists():
        return []
    records: list[TrialRecord] = []
    previous: str | None = NO_LINE
    with path.open("rb") as lines, pause_garbage_collection():
        for number, text in enumerate(lines, start=1):
            if not text.endswith(b"\n"):
                break
            if text == b"\n":
                # What came before the line that was here is not known any more.
                previous = None
                continue
            line, where = read_seal(text), f"{path}:{number}"
            if not line.is_whole:
                raise InputError("the line is not as it was written", where=where, remedy=_CHANGED)
            record = decode_record(line.record, where=where)
            if line.is_sealed and previous not in (None, line.previous):
                raise InputError(
                    "a line before this one is missing or was changed", where=where, remedy=_MISSING
                )
            if sealed and not line.is_sealed:
                raise InputError("the line lacks its checksum", where=where, remedy=_CHANGED)
            sealed = sealed or line.is_sealed
            records.append(record)
            previous = line.checksum
    return records


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

    def seal(last: bytes) -> bytes:
        checksum = read_seal(last).checksum if last.strip() else NO_LINE
        lines = []
        for record in records:
            line, checksum = seal_record(_ENCODER.encode(record), checksum)
            lines.append(line)
        return b"".join(lines)

    _append(path, seal)


def append_lines(path: Path, lines: bytes) -> None:
    """Append whole lines and return when they are on disk; a torn last line is cut off first.

    Raises:
        OSError: when the disk is full or fails; the file then still ends in a whole line.
    """
    _append(path, lambda _last: lines)


def _append(path: Path, make_lines: Callable[[bytes], bytes]) -> None:
    """Append what is made of the file's last whole line, which is empty in a file without one."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        end = _find_line_end(handle, os.fstat(handle).st_size)
        start = _find_line_end(handle, max(0, end - 1))
        content = memoryview(make_lines(os.pread(handle, end - start, start)))
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


def _find_line_end(handle: int, end: int) -> int:
    """Return the offset just after the last newline before `end`, reading backwards."""
    while end > 0:
        start = max(0, end - 65536)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
