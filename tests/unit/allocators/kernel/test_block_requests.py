"""Block requests followed from the block layer to their answers."""

from __future__ import annotations

from typing import Any

from buffer_pages import list_formats, make_page, pack_event

from datamill.allocators.kernel.block_requests import (
    BlockRequests,
    collect_block_requests,
)
from datamill.allocators.kernel.events import EventReader

DISK, OTHER_DISK, MAIN, WRITER = 254 << 20, 7 << 20 | 1, 41, 9


def follow(*events: tuple[int, str, int, tuple[Any, ...]]) -> BlockRequests:
    formats = list_formats()
    page = make_page(0, [(time, pack_event(name, thread, *values)) for time, name, thread, values in events])
    reader = EventReader({form.number: form for form in formats})
    return collect_block_requests(reader.list_events([[page]]), formats, limit=50, own={MAIN})


def queue(time: int, sector: int, length: int, *, thread: int = MAIN, disk: int = DISK) -> tuple[Any, ...]:
    return (time, "block_bio_queue", thread, (disk, sector, length, b"WS", b"dd"))


def test_a_request_waits_until_its_device_gets_it_and_then_for_the_answer() -> None:
    found = follow(
        queue(10, 100, 8),
        (15, "block_rq_insert", MAIN, (DISK, 100, 8)),
        (30, "block_rq_issue", 3, (DISK, 100, 8)),
        (90, "block_rq_complete", 0, (DISK, 100, 8)),
    )
    row = found.table.row(0, named=True)
    assert (row["latency_ns"], row["wait_ns"], row["device_ns"]) == (80, 20, 60)
    assert (row["queued"], row["merged"], row["split"], row["bounced"]) == (True, False, False, False)
    assert (row["bytes"], row["device"], row["operation"], row["program"]) == (4096, "254:0", "WS", "dd")
    assert (row["own"], row["binned"], row["event"]) == (True, True, "queued")


def test_requests_that_were_merged_are_answered_together() -> None:
    found = follow(
        queue(10, 100, 8, thread=WRITER),
        queue(20, 108, 8),
        (21, "block_bio_backmerge", MAIN, (DISK, 108, 8)),
        (30, "block_rq_issue", MAIN, (DISK, 100, 16)),
        (70, "block_rq_complete", 0, (DISK, 100, 16)),
    )
    assert found.table.select("sector", "latency_ns", "merged", "own", "in_flight").rows() == [
        (100, 60, False, False, 0),
        (108, 50, True, True, 1),
    ]


def test_a_request_that_was_split_ends_with_its_last_part() -> None:
    found = follow(
        queue(10, 100, 64),
        (12, "block_split", MAIN, (DISK, 100, 132)),
        (20, "block_rq_issue", MAIN, (DISK, 132, 32)),
        (25, "block_rq_issue", MAIN, (DISK, 100, 32)),
        (60, "block_rq_complete", 0, (DISK, 132, 32)),
        (95, "block_rq_complete", 0, (DISK, 100, 32)),
    )
    assert found.table.select("latency_ns", "wait_ns", "split", "event").rows() == [(85, 10, True, "split")]


def test_what_is_bounced_belongs_to_the_request_that_its_thread_issued_last() -> None:
    found = follow(
        queue(10, 100, 8),
        queue(11, 500, 8),
        queue(12, 700, 8),
        (13, "block_bio_bounce", MAIN, (DISK, 700, 8)),
        (20, "block_rq_issue", 3, (DISK, 100, 8)),
        (22, "block_rq_issue", 3, (DISK, 500, 8)),
        (23, "swiotlb_bounced", 3, (0,)),
        (24, "swiotlb_bounced", 4, (0,)),
        (60, "block_rq_complete", 0, (DISK, 100, 8)),
        (61, "block_rq_complete", 0, (DISK, 500, 8)),
        (62, "block_rq_complete", 0, (DISK, 700, 8)),
    )
    assert found.table.select("sector", "bounced").rows() == [(100, False), (500, True), (700, True)]


def test_the_same_sectors_of_another_device_are_other_requests() -> None:
    found = follow(
        queue(10, 100, 8),
        queue(20, 100, 8, disk=OTHER_DISK),
        (50, "block_rq_complete", 0, (OTHER_DISK, 100, 8)),
    )
    assert found.table.select("device", "latency_ns", "wait_ns").rows() == [("7:1", 30, None)]
    assert (found.seen, found.unanswered) == (1, 1)


def test_flushes_have_no_sectors_and_are_counted_only() -> None:
    found = follow(queue(10, 0, 0), (20, "block_rq_complete", 0, (DISK, 0, 0)))
    assert (found.seen, found.empty, found.unanswered) == (0, 1, 0)
    assert found.list_kinds() == ()
