"""The latencies of a trace in words: how many, what they are, what measuring them cost."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from datamill.allocators.latencies import AllocationLatencies
from datamill.experiment.messages.numbers import format_count, format_fixed


def state_latencies(latencies: AllocationLatencies) -> Iterator[str]:
    """Say what was measured, a sentence a line."""
    table, clock = latencies.table, latencies.clock
    yield f"Latency of {format_count(table.height)} allocation requests:"
    if table.height:
        for binned, name in ((False, "fast"), (True, "binned")):
            values = table.filter(pl.col("binned") == binned)["latency_ns"]
            if values.len():
                middle, most = values.median(), values.max()
                yield (
                    f"  {name}: {format_count(values.len())}, median {format_fixed(float(str(middle)), 0)} "
                    "ns, "
                    f"longest {format_fixed(float(str(most)), 0)} ns"
                )
    yield (
        f"  A reading of the counter costs {format_fixed(clock.cost_ns, 1)} ns, which is subtracted; the "
        "tracer itself "
        f"takes {format_fixed(clock.own_ns, 0)} ns in a typical request besides, which is in no latency but "
        "fills caches."
    )
    if latencies.seen > latencies.limit:
        yield (
            f"  {format_count(latencies.seen - latencies.limit)} later requests are not in the table: "
            f"there was room for {format_count(latencies.limit)} (--calls)."
        )
