"""Records in a page of the kernel's trace buffer (`trace_pipe_raw`; `include/linux/ring_buffer.h`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

#: A page begins with the time of its first record and the bytes that were committed, whose upper bits are
#: flags.
_HEADER = struct.Struct("<QQ")
_COMMITTED = 0xFFFFF
_HEAD, _LONG = struct.Struct("<I"), struct.Struct("<II")
#: Kinds of records: data of up to 112 bytes has its length in words in their place.
_LONG_DATA, _PADDING, _TIME_EXTEND, _TIME_STAMP = 0, 29, 30, 31
_TIME_BITS = 27
#: Bits of an absolute time that its record has no room for.
_LOST_BITS = ~((1 << 59) - 1)


def list_records(page: bytes) -> Iterator[tuple[int, int]]:
    """Yield the records of a page: the time of each in the buffer's clock, and where its data begin.

    Pages are those of a processor with the least significant byte first. One that is cut off ends with its
    last whole record.
    """
    if len(page) < _HEADER.size:
        return
    time, committed = _HEADER.unpack_from(page)
    at = _HEADER.size
    end = min(at + (committed & _COMMITTED), len(page))
    while at + _HEAD.size <= end:
        (head,) = _HEAD.unpack_from(page, at)
        kind, delta = head & 31, head >> 5
        if 0 < kind < _PADDING:
            time += delta
            if at + 4 + 4 * kind > end:
                return
            yield time, at + 4
            at += 4 + 4 * kind
            continue
        if (kind == _PADDING and delta == 0) or at + _LONG.size > end:
            return
        _, word = _LONG.unpack_from(page, at)
        if kind == _LONG_DATA:
            time += delta
            if at + 4 + word > end:
                return
            yield time, at + 8
            at += 4 + (word + 3 & ~3)
        elif kind == _PADDING:
            # What was taken back counts in the time all the same.
            time += delta
            at += 4 + word
        elif kind == _TIME_EXTEND:
            time += (word << _TIME_BITS) + delta
            at += _LONG.size
        else:
            time = (word << _TIME_BITS) + delta | time & _LOST_BITS
            at += _LONG.size
