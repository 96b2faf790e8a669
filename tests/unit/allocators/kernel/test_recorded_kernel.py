"""What Debian's Linux 6.1 wrote in an emulated machine while a program mapped memory: the first pages.

There the function tracer may be used, so that refills of the cache from slabs that were there show as well.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from datamill.allocators.kernel.events import EventReader
from datamill.allocators.kernel.formats import parse_event_format, parse_page_size
from datamill.allocators.kernel.probes import ENTER, EXIT, REFILLS, SLAB_PAGES
from datamill.allocators.kernel.system_calls import IDLE_CALL, SlabCode, collect_system_calls
from datamill.conduct.tracing.kernel_symbols import find_code

RECORDED = json.loads((Path(__file__).parent / "linux_6_1.json").read_text(encoding="utf-8"))


def test_refills_and_pages_of_slabs_are_found_in_what_a_kernel_recorded(tmp_path: Path) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(RECORDED["symbols"], encoding="ascii")
    code = find_code({"pages": SLAB_PAGES, "refills": REFILLS}, symbols)
    formats = [parse_event_format(text) for text in RECORDED["formats"]]
    size = parse_page_size(RECORDED["header_page"])
    written = gzip.decompress(base64.b64decode(RECORDED["pages"]))
    pages = [written[at : at + size] for at in range(0, len(written), size)]
    reader = EventReader({form.number: form for form in formats})
    events = list(reader.list_events([pages]))
    assert [event.time for event in events] == sorted(event.time for event in events)
    # The shell that became the program made no idle calls, which tell the program's thread: here is one.
    begin, end = (next(event for event in events if event.name == f"{kind}mmap") for kind in (ENTER, EXIT))
    idle = [
        begin._replace(time=events[0].time - 2, name=f"{ENTER}{IDLE_CALL}"),
        end._replace(time=events[0].time - 1, name=f"{EXIT}{IDLE_CALL}"),
    ]
    [ending] = (form for form in formats if form.name == f"{EXIT}mmap")
    found = collect_system_calls(
        [*idle, *events],
        [*formats, replace(ending, name=f"{EXIT}{IDLE_CALL}", number=0)],
        limit=1000,
        only=["mmap"],
        code=SlabCode(pages=code["pages"], refills=code["refills"]),
    )
    table = found.table
    ends = [event for event in events if event.name == f"{EXIT}mmap"]
    assert (found.idle_ns, found.unpaired, table.height) == (1, 0, len(ends))
    assert table.height > 100
    # Addresses that were mapped lie one below the other; the static program maps nothing else.
    assert table["result"].diff().drop_nulls().eq(-4096).mean() > 0.9
    refilled, paged = table.filter(pl.col("slab_refills") > 0), table.filter(pl.col("slab_pages") > 0)
    assert refilled.height > paged.height > 0
    # A slab gets pages only where a cache is refilled.
    assert (paged["slab_refills"] > 0).all()
    assert (paged["slab_pages"] <= paged["pages"]).all()
    assert table["binned"].sum() == refilled.height
