"""Records in pages of the kernel's trace buffer."""

from __future__ import annotations

import struct

from buffer_pages import describe, make_page, pack_event

from datamill.allocators.kernel.formats import parse_event_format, parse_page_size
from datamill.allocators.kernel.pages import list_records

HEADER_PAGE = """\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""


def test_each_record_has_its_time_and_its_data() -> None:
    first, second = pack_event("sched_switch", 7, 7, 8), pack_event("sched_switch", 8, 8, 7)
    page = make_page(1000, [(1000, first), (1250, second)])
    found = list(list_records(page))
    assert [time for time, _ in found] == [1000, 1250]
    assert [page[at : at + len(first)] for _, at in found] == [first, second]


def test_a_long_pause_and_a_long_record_are_read_as_such() -> None:
    long = bytes(range(200))
    page = make_page(5, [(5, b"abcd"), (5 + (1 << 30) + 17, long), (6 + (1 << 30) + 17, b"efgh")])
    found = list(list_records(page))
    assert [time for time, _ in found] == [5, 5 + (1 << 30) + 17, 6 + (1 << 30) + 17]
    assert page[found[1][1] :][:200] == long
    assert page[found[2][1] :][:4] == b"efgh"


def test_what_was_taken_back_is_no_record_but_its_time_has_passed() -> None:
    body = struct.pack("<I", 1) + b"abcd"
    body += struct.pack("<II", 29 | 40 << 5, 8) + b"gone"
    body += struct.pack("<I", 2 << 5 | 1) + b"efgh"
    page = struct.pack("<QQ", 100, len(body)) + body
    assert [(time, page[at : at + 4]) for time, at in list_records(page)] == [(100, b"abcd"), (142, b"efgh")]


def test_an_absolute_time_keeps_the_bits_that_its_record_has_no_room_for() -> None:
    begin, later = (3 << 59) + 100, (3 << 59) + 5_000_000_000
    low = later & (1 << 59) - 1
    body = struct.pack("<II", 31 | (low & (1 << 27) - 1) << 5, low >> 27) + struct.pack("<I", 1) + b"abcd"
    assert [time for time, _ in list_records(struct.pack("<QQ", begin, len(body)) + body)] == [later]


def test_a_page_that_is_cut_off_ends_with_its_last_whole_record() -> None:
    page = make_page(10, [(10, b"abcd"), (11, b"efgh"), (12, bytes(180))])
    counts = [len(list(list_records(page[:length]))) for length in range(len(page) + 1)]
    assert counts == sorted(counts)
    assert (counts[0], counts[24], counts[31], counts[32], counts[-2], counts[-1]) == (0, 1, 1, 2, 2, 3)


def test_nothing_after_the_committed_bytes_is_read() -> None:
    page = make_page(10, [(10, b"abcd")]) + struct.pack("<I", 1) + b"left"
    assert len(list(list_records(page))) == 1


def test_formats_give_fields_and_the_size_of_a_page() -> None:
    form = parse_event_format(describe("kernel_stack"))
    assert (form.name, form.fields["size"], form.fields["caller"]) == ("kernel_stack", (8, 4), (16, 64))
    assert parse_page_size(HEADER_PAGE) == 4096
