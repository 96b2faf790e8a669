"""The latencies of a trace in words: how many, what they are, what measuring them cost."""

from __future__ import annotations

from collections.abc import Iterator

from datamill.allocators.latencies import AllocationLatencies
from datamill.experiment.messages.numbers import format_count, format_fixed


def state_latencies(latencies: AllocationLatencies, *, most: int = 5) -> Iterator[str]:
    """Say what was measured, a sentence a line, and the `most` lines that the slow path took most time in."""
    table, clock = latencies.table, latencies.clock
    yield f"Latency of {format_count(table.height)} allocation requests:"
    for path in latencies.summarize_paths():
        middle, longest = format_fixed(path.median_ns, 0), format_fixed(path.longest_ns, 0)
        name = "binned" if path.binned else "fast"
        yield f"  {name}: {format_count(path.count)}, median {middle} ns, longest {longest} ns"
    total = float(table["latency_ns"].sum())
    slow = latencies.find_slow_lines()
    if slow and total > 0:
        own = sum(line.latency_ns for line in slow)
        yield (
            f"  time in slow paths: {format_fixed(own / 1e6, 2)} ms of {format_fixed(total / 1e6, 2)} ms "
            "in all requests"
        )
        for line in slow[:most]:
            place = f", line {line.line}" if line.line else ""
            yield (
                f'    File "{line.file}"{place} in {line.function}: '
                f"{format_fixed(line.latency_ns / 1e6, 3)} ms, {format_count(line.count)} requests of "
                f"{format_count(line.size)} bytes"
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
            f"there was room for {format_count(latencies.limit)}."
        )
