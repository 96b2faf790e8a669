"""System calls paired from the events of the kernel, and what is counted in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from buffer_pages import list_formats, make_page, pack_event

from datamill.allocators.kernel.events import EventReader
from datamill.allocators.kernel.system_calls import (
    SlabCode,
    SystemCalls,
    collect_system_calls,
)

MAIN, OTHER = 41, 42
SLAB = SlabCode(pages=((0x1000, 0x2000),), refills=((0x5000, 0x6000),))
#: The launcher does nothing twice, then becomes the program.
START: tuple[tuple[int, str, int, tuple[Any, ...]], ...] = (
    (10, "sys_enter_getppid", MAIN, (0, 0)),
    (15, "sys_exit_getppid", MAIN, (0, 1)),
    (20, "sys_enter_getppid", MAIN, (0, 0)),
    (27, "sys_exit_getppid", MAIN, (0, 1)),
    (30, "sys_enter_execve", MAIN, (0, 0)),
    (90, "sys_exit_execve", MAIN, (0, 0)),
)


def collect(*events: tuple[int, str, int, tuple[Any, ...]], **options: Any) -> SystemCalls:
    return collect_on([[*START, *events]], **options)


def collect_on(
    processors: Sequence[Sequence[tuple[int, str, int, tuple[Any, ...]]]],
    *,
    interrupts: frozenset[int] = frozenset(),
    **options: Any,
) -> SystemCalls:
    formats = list_formats()
    pages = [
        [
            make_page(
                0,
                [
                    (time, pack_event(name, thread, *values, flags=8 if time in interrupts else 0))
                    for time, name, thread, values in own
                ],
            )
        ]
        for own in processors
    ]
    reader = EventReader({form.number: form for form in formats})
    return collect_system_calls(reader.list_events(pages), formats, **{"limit": 100, "code": SLAB, **options})


def test_a_call_lasts_from_its_beginning_to_its_end_in_its_own_thread() -> None:
    found = collect(
        (100, "sys_enter_mmap", MAIN, (9, 0)),
        (110, "sys_enter_read", OTHER, (0, 0)),
        (150, "sys_exit_mmap", MAIN, (9, 4096)),
        (400, "sys_exit_read", OTHER, (0, -4)),
    )
    rows = found.table.select("index", "call", "latency_ns", "result", "thread").rows()
    assert rows == [(0, "mmap", 50, 4096, MAIN), (1, "read", 290, -4, OTHER)]
    assert not found.table["binned"].any()
    assert found.threads == {MAIN, OTHER}


def test_what_came_before_the_program_is_no_call_of_it_but_says_what_recording_costs() -> None:
    found = collect((100, "sys_enter_mmap", MAIN, (9, 0)), (101, "sys_exit_mmap", MAIN, (9, 0)))
    assert found.table["call"].to_list() == ["mmap"]
    assert found.idle_ns == 6


def test_pages_for_a_slab_are_told_from_other_pages_by_the_code_that_asked() -> None:
    found = collect(
        (100, "sys_enter_mmap", MAIN, (9, 0)),
        (101, "mm_page_alloc", MAIN, (77, 1)),
        (102, "kernel_stack", MAIN, (3, 0x9000, 0x1234, 0x9999)),
        (103, "mm_page_alloc", MAIN, (78, 0)),
        (104, "kernel_stack", MAIN, (2, 0x9000, 0x2000, 0x1234)),
        (110, "sys_exit_mmap", MAIN, (9, 0)),
    )
    row = found.table.row(0, named=True)
    assert (row["pages"], row["slab_pages"], row["binned"], row["event"]) == (3, 2, True, "slab_pages+pages")


def test_a_refill_without_new_pages_counts_where_functions_are_seen() -> None:
    found = collect(
        (100, "sys_enter_read", MAIN, (0, 0)),
        (101, "function", MAIN, (0x5010, 0x9000)),
        (102, "function", MAIN, (0x4FFF, 0x9000)),
        (103, "sys_exit_read", MAIN, (0, 0)),
    )
    row = found.table.row(0, named=True)
    assert (row["slab_refills"], row["slab_pages"], row["binned"]) == (1, 0, True)


def test_time_away_from_the_processor_is_told_also_where_the_call_ends_on_another() -> None:
    first = [
        *START,
        (100, "sys_enter_read", MAIN, (0, 0)),
        (120, "sched_switch", MAIN, (MAIN, 1)),
    ]
    second = [(320, "sched_switch", 1, (1, MAIN)), (340, "sys_exit_read", MAIN, (0, 8))]
    row = collect_on([first, second]).table.row(0, named=True)
    assert (row["latency_ns"], row["switches"], row["off_cpu_ns"]) == (240, 1, 200)


def test_what_an_interrupt_does_is_not_the_calls() -> None:
    events = [
        *START,
        (100, "sys_enter_read", MAIN, (0, 0)),
        (105, "mm_page_alloc", MAIN, (77, 0)),
        (110, "mm_page_alloc", MAIN, (78, 0)),
        (120, "sys_exit_read", MAIN, (0, 0)),
    ]
    assert collect_on([events], interrupts=frozenset({105})).table["pages"].to_list() == [1]


def test_ends_without_beginnings_and_beginnings_without_ends_are_no_rows() -> None:
    found = collect(
        # A child's first end is that of its parent's fork.
        (100, "sys_exit_read", OTHER, (0, 0)),
        (110, "sys_enter_read", OTHER, (0, 0)),
        # Its end was lost.
        (120, "sys_enter_mmap", OTHER, (9, 0)),
        (130, "sys_exit_mmap", OTHER, (9, 0)),
    )
    assert found.table["call"].to_list() == ["mmap"]
    assert found.unpaired == 1


def test_only_so_many_rows_are_kept_and_only_calls_that_were_asked_for() -> None:
    calls = [
        (100 + 10 * turn + part, f"sys_{kind}_{name}", MAIN, (0, 0))
        for turn, name in enumerate(("mmap", "read", "mmap", "mmap"))
        for part, kind in enumerate(("enter", "exit"))
    ]
    found = collect(*calls, limit=2, only=["mmap"])
    assert (found.seen, found.table.height, found.limit) == (3, 2, 2)
    assert found.table["call"].to_list() == ["mmap", "mmap"]


def test_what_a_kernel_does_not_show_is_empty_rather_than_zero() -> None:
    found = collect(
        (100, "sys_enter_mmap", MAIN, (9, 0)),
        (101, "sys_exit_mmap", MAIN, (9, 0)),
        hidden=("slab_refills", "switches"),
    )
    row = found.table.row(0, named=True)
    assert (row["slab_refills"], row["switches"], row["pages"]) == (None, None, 0)
    assert found.list_kinds()[0].switched == 0


def test_kinds_of_calls_are_summed_up_with_the_most_frequent_first() -> None:
    calls = [
        (100 + 10 * turn + part * length, f"sys_{kind}_{name}", MAIN, (0, 0))
        for turn, (name, length) in enumerate((("read", 1), ("mmap", 2), ("mmap", 4), ("mmap", 9)))
        for part, kind in enumerate(("enter", "exit"))
    ]
    kinds = collect(*calls).list_kinds()
    assert [(kind.call, kind.count, kind.median_ns, kind.longest_ns) for kind in kinds] == [
        ("mmap", 3, 4.0, 9),
        ("read", 1, 1.0, 1),
    ]
