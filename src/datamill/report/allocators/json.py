"""A trace as plain values for JSON."""

from __future__ import annotations

from datamill.allocators.events import EVENTS
from datamill.allocators.latencies import AllocationLatencies
from datamill.allocators.trace import AllocationTrace
from datamill.allocators.visibility import NOT_TIMED


def list_metrics(trace: AllocationTrace) -> dict[str, int]:
    """Return the totals as metrics of a package (`metrics.json`): `allocations_list_resize` and so on.

    Events that cannot happen in the programs that were traced are left out.
    """
    return {
        f"allocations_{event.name}": trace.totals[event.name]
        for event in EVENTS
        if (event.interpreted and trace.interpreter_count) or (event.native and trace.program_count)
    }


def list_trace_values(
    trace: AllocationTrace, *, stacks: bool, latencies: AllocationLatencies | None = None
) -> dict[str, object]:
    """Return all that a trace found.

    `totals` has the number of events by name; `outside` those while interpreters started, compiled their
    program and ended, which are not in `totals`. `lines` has an entry for each event in each line, and
    `not_visible` sentences. `stacks` is there where stacks were kept, innermost frame first; `latencies`,
    where they were kept, says how many there are and what the counter and the tracer took.
    """
    values: dict[str, object] = {
        "totals": trace.totals,
        "outside": trace.outside,
        "lines": [
            {
                "event": line.event,
                "file": line.file,
                "line": line.line,
                "function": line.function,
                "count": line.count,
            }
            for line in trace.lines
        ],
        "not_visible": [*trace.not_visible, *(NOT_TIMED if latencies is not None else ())],
        "interpreters": [
            {"pid": interpreter.pid, "version": interpreter.version, "program": interpreter.program}
            for interpreter in trace.interpreters
        ],
        "interpreter_count": trace.interpreter_count,
        "programs": [
            {"pid": program.pid, "allocator": program.allocator or None, "program": program.program}
            for program in trace.programs
        ],
        "program_count": trace.program_count,
        "forks": trace.forks,
    }
    if latencies is not None:
        clock = latencies.clock
        values["latencies"] = {
            "calls": latencies.seen,
            "kept": latencies.table.height,
            "limit": latencies.limit,
            "binned": int(latencies.table["binned"].sum()),
            "total_ns": float(latencies.table["latency_ns"].sum()),
            "slow_lines": [
                {
                    "file": line.file,
                    "line": line.line,
                    "function": line.function,
                    "count": line.count,
                    "latency_ns": line.latency_ns,
                    "bytes": line.size,
                }
                for line in latencies.find_slow_lines()
            ],
            "counts_cycles": clock.counts_cycles,
            "ticks_per_second": clock.rate,
            "reading_cost_ticks": clock.cost,
            "reading_cost_ns": clock.cost_ns,
            "own_median_ns": clock.own_ns,
        }
    if stacks:
        values["stacks"] = [
            {
                "event": stack.event,
                "count": stack.count,
                "frames": [
                    {"file": frame.file, "line": frame.line, "function": frame.function}
                    for frame in stack.frames
                ],
            }
            for stack in trace.stacks
        ]
    return values
