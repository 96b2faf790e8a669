"""Latencies of a trace in words."""

from __future__ import annotations

import numpy as np

from datamill.allocators.latencies import CALL, Clock, read_calls
from datamill.allocators.trace import Frame
from datamill.report.allocators.latencies import state_latencies


def test_fast_and_binned_requests_are_told_with_the_lines_that_took_time_and_what_was_left_out() -> None:
    rows = np.zeros(4, CALL)
    rows["ticks"], rows["size"], rows["domain"], rows["way"] = [20, 30, 5_000_000, 7_000_000], 40, 1, 1
    rows["events"], rows["frame"] = [0, 0, 1, 1], [1, 1, 1, 2]
    lines = {number: Frame("a.py", number + 3, "move") for number in range(2)}
    clock = Clock(1, 20, 1_000_000_000, 64.0)
    told = "\n".join(state_latencies(read_calls(rows, lines, seen=9, limit=4, clock=clock), most=1))
    assert "fast: 2, median 25 ns, longest 30 ns" in told
    assert "binned: 2, median 6 000 000 ns" in told.replace("\u202f", " ")
    assert "time in slow paths: 12.00 ms of 12.00 ms in all requests" in told
    assert 'File "a.py", line 4 in move: 7.000 ms, 1 requests of 40 bytes' in told
    assert "line 3 in move" not in told
    assert "5 later requests are not in the table" in told
