"""What a trace says in words and in JSON; its keys are those that scripts know."""

from __future__ import annotations

import json

from faces.json_keys import list_keys

from datamill.allocators.events import EVENTS
from datamill.allocators.trace import (
    AllocationTrace,
    Frame,
    TracedInterpreter,
    TracedLine,
    TracedNative,
    TracedStack,
)
from datamill.report.allocators.folded import fold_stacks
from datamill.report.allocators.json import list_metrics, list_trace_values
from datamill.report.allocators.statement import list_lines, list_totals, phrase_answer, phrase_line
from datamill.report.tables.envelope import write_result

NONE = {event.name: 0 for event in EVENTS}
LINES = tuple(
    TracedLine("list_resize", "bm_go.py", line, "move", count)
    for line, count in ((192, 2136), (326, 1809), (241, 1809), (130, 846), (38, 162), (7, 957))
)
TRACE = AllocationTrace(
    totals={**NONE, "list_resize": 7719, "str_resize": 5},
    outside=NONE,
    untold={**NONE, "str_resize": 5},
    lines=LINES,
    stacks=(TracedStack("list_resize", (Frame("a/b.py", 3, "f;g"), Frame("a/m.py", 9, "<module>")), 4),),
    interpreters=(TracedInterpreter(7, "3.11.2 (main)", "/usr/bin/python3", 1),),
    interpreter_count=1,
    programs=(TracedNative(8, "glibc 2.36", "/bin/sh", 513),),
    program_count=0,
    loaded=1,
    forks=2,
    regions=0,
    looked_at=10,
    not_visible=("All.",),
)


def test_a_line_is_spelled_as_in_the_thesis() -> None:
    # Listing 2.5: the same counts.
    assert phrase_line(LINES[0], 7719) == 'File "bm_go.py", line 192 in move: 2136, 27.67%'


def test_lines_that_are_not_given_are_counted() -> None:
    assert list(list_lines(TRACE, most=5))[-1] == "  in 1 more line: 957"
    assert list(list_lines(TRACE, most=9))[1:3] == ["List resize:", f"  {phrase_line(LINES[0], 7719)}"]


def test_the_answer_counts_what_is_published_and_the_rest() -> None:
    answer = "7,719 binning events in 1 interpreter and 2 forks of it, and 5 other events of the allocator."
    assert phrase_answer(TRACE).replace("\N{NARROW NO-BREAK SPACE}", ",").replace("\u2009", ",") == answer
    assert len(list(list_totals(TRACE))) == sum(event.interpreted for event in EVENTS)


def test_stacks_are_folded_from_the_outermost_frame_on() -> None:
    assert list(fold_stacks(TRACE)) == ["list_resize;<module> (m.py:9);f,g (b.py:3) 4"]


def test_metrics_are_those_of_the_programs_that_were_traced() -> None:
    metrics = list_metrics(TRACE)
    assert metrics["allocations_list_resize"] == 7719
    assert "allocations_heap_extend" not in metrics
    assert all(name.isidentifier() for name in metrics)


def test_keys_are_those_that_scripts_know() -> None:
    content = json.loads(write_result([phrase_answer(TRACE)], list_trace_values(TRACE, stacks=True), ()))
    events = [event.name for event in EVENTS]
    assert sorted(list_keys(content)) == sorted(
        [
            "answer",
            "answer[]",
            "forks",
            "interpreter_count",
            "interpreters",
            "interpreters[]",
            "lines",
            "lines[]",
            "program_count",
            "programs",
            "programs[]",
        ]
        + ["not_visible", "not_visible[]", "outside", "schema", "stacks", "stacks[]", "totals", "warnings"]
        + [f"programs[].{key}" for key in ("allocator", "pid", "program")]
        + [f"interpreters[].{key}" for key in ("pid", "program", "version")]
        + [f"lines[].{key}" for key in ("count", "event", "file", "function", "line")]
        + [f"stacks[].{key}" for key in ("count", "event", "frames", "frames[]")]
        + [f"stacks[].frames[].{key}" for key in ("file", "function", "line")]
        + [f"{key}.{event}" for key in ("outside", "totals") for event in events]
    )
    assert "stacks" not in list_trace_values(TRACE, stacks=False)
