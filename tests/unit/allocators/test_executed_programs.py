"""Programs that ran without the tracer, from what the ledger has of executions."""

from __future__ import annotations

import struct

from datamill.allocators.executed import (
    ExecutedProgram,
    Obstacle,
    UnseenProgram,
    add_first,
    list_executed,
    list_unseen,
    phrase_unseen,
)
from datamill.allocators.ledger import plan_ledger

TOOL = ExecutedProgram("/bin/tool", 1, 2, executed=5, loaded=1, bare=3)


def test_entries_without_a_path_are_left_out_and_others_are_read() -> None:
    plan = plan_ledger(stacks=False, regions=False, latencies=3)
    ledger = bytearray(plan.header.ljust(plan.size, b"\0"))
    offset, capacity = struct.unpack_from("<2Q", ledger, 1832)
    assert offset + capacity * 512 <= plan.reserved[0]
    struct.pack_into("<7Q456s", ledger, offset + 512, 9, 1, 2, 5, 1, 3, 1, b"/bin/tool")
    struct.pack_into("<7Q456s", ledger, offset + 1024, 8, 1, 3, 5, 1, 3, 0, b"/bin/half")
    assert list(list_executed(bytes(ledger))) == [TOOL]


def test_the_first_program_is_one_more_execution_of_the_same_file() -> None:
    other = ExecutedProgram("/bin/other", 1, 3, 0, 0, 0)
    again = ExecutedProgram("/usr/bin/tool", 1, 2, 0, 0, 0)
    assert [program.executed for program in add_first([other, TOOL], again)] == [6, 0]
    assert [program.path for program in add_first([TOOL], other)] == ["/bin/other", "/bin/tool"]


def test_an_emptied_environment_is_the_reason_only_where_the_file_has_none() -> None:
    assert list(list_unseen(TOOL, Obstacle.UNKNOWN)) == [
        UnseenProgram("/bin/tool", 3, Obstacle.ENVIRONMENT),
        UnseenProgram("/bin/tool", 1, Obstacle.UNKNOWN),
    ]
    assert list(list_unseen(TOOL, Obstacle.STATIC)) == [UnseenProgram("/bin/tool", 4, Obstacle.STATIC)]


def test_a_program_that_loaded_the_tracer_more_often_than_it_was_executed_is_seen() -> None:
    assert list(list_unseen(ExecutedProgram("/bin/sh", 1, 4, 1, 2, 0), Obstacle.UNKNOWN)) == []


def test_programs_are_named_with_their_processes_and_the_most_first() -> None:
    unseen = [UnseenProgram("/a", 1, Obstacle.STATIC), UnseenProgram("/b", 1200, Obstacle.OTHER_LIBRARY)]
    first, second, rest = phrase_unseen(unseen)
    assert first.startswith("/b: nothing is counted in 1")
    assert "200 processes: it belongs to another C library" in first
    assert second == f"/a: nothing is counted in 1 process: {Obstacle.STATIC.value}."
    assert "is not named here" in rest
