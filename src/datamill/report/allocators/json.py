"""A trace as plain values for JSON."""

from __future__ import annotations

from datamill.allocators.trace import AllocationTrace


def list_trace_values(trace: AllocationTrace, *, stacks: bool) -> dict[str, object]:
    """Return all that a trace found.

    `totals` has the number of events by name; `outside` those while interpreters started, compiled their
    program and ended, which are not in `totals`. `lines` has an entry for each event in each line, and
    `not_visible` sentences. `stacks` is there where stacks were kept, innermost frame first.
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
        "not_visible": list(trace.not_visible),
        "interpreters": [
            {"pid": interpreter.pid, "version": interpreter.version, "program": interpreter.program}
            for interpreter in trace.interpreters
        ],
        "interpreter_count": trace.interpreter_count,
        "forks": trace.forks,
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
