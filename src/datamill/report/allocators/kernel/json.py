"""What the kernel did for a program, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from datamill.allocators.kernel.block_requests import BlockRequests
from datamill.allocators.kernel.system_calls import SystemCalls


def list_kernel_values(
    calls: SystemCalls, requests: BlockRequests | None, *, lost: int, not_visible: Sequence[str]
) -> dict[str, object]:
    """Return all but the rows: `calls` by name, `requests` by operation (null without), what was lost."""
    return {
        "call_count": calls.seen,
        "calls_kept": calls.table.height,
        "calls_unpaired": calls.unpaired,
        "idle_call_ns": calls.idle_ns,
        "calls": [asdict(kind) for kind in calls.list_kinds()],
        "requests": None
        if requests is None
        else {
            "count": requests.seen,
            "kept": requests.table.height,
            "unanswered": requests.unanswered,
            "without_sectors": requests.empty,
            "operations": [asdict(kind) for kind in requests.list_kinds()],
        },
        "events_lost": lost,
        "not_visible": list(not_visible),
    }
