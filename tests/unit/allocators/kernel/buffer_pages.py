"""Pages as the kernel writes them, for tests: records of a few kinds, one after another."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from datamill.allocators.kernel.formats import EventFormat, parse_event_format

_COMMON = (
    "field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "field:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "field:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
#: Fields of each event as Linux 6.18 has them: its name, what struct packs from offset 8 on, and their
#: declarations.
EVENTS = {
    name: (number, packed, declared)
    for number, (name, packed, declared) in enumerate(
        (
            *(
                (f"sys_enter_{call}", "<i4xQ", "int __syscall_nr:8:4 unsigned_long a:16:8")
                for call in ("getppid", "execve", "mmap", "read")
            ),
            *(
                (f"sys_exit_{call}", "<i4xq", "int __syscall_nr:8:4 long ret:16:8")
                for call in ("getppid", "execve", "mmap", "read")
            ),
            ("mm_page_alloc", "<QI4x", "unsigned_long pfn:8:8 unsigned_int order:16:4"),
            ("kernel_stack", "<i4x3Q", "int size:8:4 unsigned_long caller[8]:16:64"),
            ("function", "<QQ", "unsigned_long ip:8:8 unsigned_long parent_ip:16:8"),
            ("sched_switch", "<ii", "pid_t prev_pid:8:4 pid_t next_pid:12:4"),
            (
                "block_bio_queue",
                "<I4xQI10s16s",
                "dev_t dev:8:4 sector_t sector:16:8 unsigned_int nr_sector:24:4 char rwbs[10]:28:10 "
                "char comm[16]:38:16",
            ),
            *(
                (name, "<I4xQI", "dev_t dev:8:4 sector_t sector:16:8 unsigned_int nr_sector:24:4")
                for name in (
                    "block_bio_backmerge",
                    "block_rq_insert",
                    "block_rq_issue",
                    "block_rq_complete",
                    "block_bio_bounce",
                )
            ),
            ("block_split", "<I4xQQ", "dev_t dev:8:4 sector_t sector:16:8 sector_t new_sector:24:8"),
            ("swiotlb_bounced", "<Q", "u64 dma_mask:8:8"),
        ),
        start=300,
    )
}


def describe(name: str) -> str:
    """The kernel's file `format` of an event."""
    number, _, declared = EVENTS[name]
    fields = ""
    for field in declared.split():
        kind, _, place = field.partition(":")
        if not place:
            held = kind
            continue
        offset, size = place.split(":")
        fields += f"\tfield:{held.replace('_', ' ')} {kind};\toffset:{offset};\tsize:{size};\tsigned:0;\n"
    return f'name: {name}\nID: {number}\nformat:\n{_COMMON}{fields}\nprint fmt: ""\n'


def list_formats() -> list[EventFormat]:
    """Descriptions of all events above."""
    return [parse_event_format(describe(name)) for name in EVENTS]


def pack_event(name: str, thread: int, *values: object, flags: int = 0) -> bytes:
    """The data of a record, whole words."""
    number, packed, _ = EVENTS[name]
    data = struct.pack("<HBBi", number, flags, 0, thread) + struct.pack(packed, *values)
    return data.ljust(-(-len(data) // 4) * 4, b"\0")


def make_page(time: int, records: Sequence[tuple[int, bytes]]) -> bytes:
    """A page: records with their times, of which the first is not before the page's."""
    body, now = b"", time
    for moment, data in records:
        delta, now = moment - now, moment
        if delta >= 1 << 27:
            body += struct.pack("<II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27)
            delta = 0
        words = len(data) // 4
        head = delta << 5
        body += (
            struct.pack("<I", head | words) if words <= 28 else struct.pack("<II", head, len(data) + 4)
        ) + data
    return struct.pack("<QQ", time, len(body) | 1 << 31) + body
