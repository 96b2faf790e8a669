"""Lines of a log that carry a checksum over themselves and the line before them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

#: What the first line says of the line before it.
NO_LINE = "0" * 16
_DIGITS = len(NO_LINE)
_PREVIOUS, _CHECKSUM, _END = b',"previous":"', b'","checksum":"', b'"}'
_SEAL_BYTES = len(_PREVIOUS) + _DIGITS + len(_CHECKSUM) + _DIGITS + len(_END)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log: the record's JSON text, and what the line says of itself and of the one before it.

    `checksum` is that which the line carries, or where it carries none, as in logs of older versions, the one
    of its text. `is_whole` says whether its own checksum fits it.
    """

    record: bytes
    previous: str
    checksum: str
    is_sealed: bool
    is_whole: bool


def seal_record(record: bytes, previous: str) -> tuple[bytes, str]:
    """Return a record's line, with its newline, and its checksum.

    Args:
        record: a JSON object on one line.
        previous: the checksum of the line before it, `NO_LINE` for the first one.
    """
    told = record.strip()[:-1] + _PREVIOUS + previous.encode()
    checksum = _digest(told)
    return told + _CHECKSUM + checksum.encode() + _END + b"\n", checksum


def read_seal(line: bytes) -> LogLine:
    """Return what a line, with or without its newline, says of itself."""
    text = line.rstrip(b"\n")
    start = len(text) - _SEAL_BYTES
    if start < 0 or not text.startswith(_PREVIOUS, start):
        return LogLine(text, "", _digest(text), is_sealed=False, is_whole=True)
    told = text[: start + len(_PREVIOUS) + _DIGITS]
    previous = told[-_DIGITS:].decode("ascii", "replace")
    checksum = text[-len(_END) - _DIGITS : -len(_END)].decode("ascii", "replace")
    is_whole = text == told + _CHECKSUM + checksum.encode() + _END and checksum == _digest(told)
    return LogLine(text[:start] + b"}", previous, checksum, is_sealed=True, is_whole=is_whole)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGITS // 2).hexdigest()
