"""Trace the allocations of a program and its children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datamill.allocators.latencies import AllocationLatencies
from datamill.allocators.ledger import (
    list_native_places,
    plan_ledger,
    read_latencies,
    read_ledger,
    read_served_requests,
    read_totals,
)
from datamill.allocators.served import ServedRequests
from datamill.allocators.trace import AllocationTrace
from datamill.conduct.tracing.read_lines import read_lines_of_places
from datamill.conduct.tracing.unseen_programs import find_unseen_programs
from datamill.execution.tracing.traced_program import opening_ledger, run_traced
from datamill.execution.tracing.tracer import find_tracer

_LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """What a trace found, and how the program ended: its status, or the negative number of a signal."""

    trace: AllocationTrace
    status: int
    latencies: AllocationLatencies | None = None
    served: ServedRequests | None = None


def trace_allocations(
    command: Sequence[str],
    *,
    stacks: bool = False,
    regions: bool = False,
    latencies: int = 0,
    faults: bool = False,
    served: bool = False,
    look: Callable[[dict[str, int]], None] | None = None,
) -> TracedProgram:
    """Run a program and count its allocations that take the slow path.

    Args:
        command: the program and its arguments.
        stacks: whether whole stacks are kept.
        regions: whether only what lies in `datamill.allocators.region` is counted.
        latencies: allocation requests whose latency is kept, the first of them; 0 for none.
        faults: whether the kernel is asked for the page faults in each request, where they do not show
        otherwise.
        served: whether latencies are those of requests that servers read from sockets, in place of requests
        to the
            allocator.
        look: called now and then with the totals so far.

    Raises:
        InputError: there is no such program, or no tracer, or no room for so many latencies.
    """
    tracer = find_tracer()
    plan = plan_ledger(stacks=stacks, regions=regions, latencies=latencies, faults=faults, served=served)
    with opening_ledger(plan.header, plan.size, plan.reserved) as (path, ledger):

        def look_now() -> None:
            if look is not None:
                look(read_totals(ledger))

        status = run_traced(command, tracer, path, look=look_now, every_s=_LOOK_EVERY_S)
        lines = read_lines_of_places(list_native_places(ledger))
        return TracedProgram(
            read_ledger(ledger, lines, find_unseen_programs(ledger, command, tracer)),
            status,
            read_latencies(ledger, lines) if latencies and not served else None,
            read_served_requests(ledger) if served else None,
        )
