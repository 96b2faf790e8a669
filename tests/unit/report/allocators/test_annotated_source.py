"""Source with the events of its lines, and hints."""

from __future__ import annotations

from datamill.allocators.events import EVENTS
from datamill.allocators.trace import AllocationTrace, TracedLine
from datamill.report.allocators.annotated import annotate_sources

SOURCE = [
    "def move(history, squares):",
    "    for i in range(1000):",
    "        history.append(i)",
    "",
    "",
    "",
    "",
    "    text = ''",
    "    text += 'more'",
    "    return dict(squares)",
]


def make_trace(*lines: TracedLine) -> AllocationTrace:
    totals = {event.name: sum(line.count for line in lines if line.event == event.name) for event in EVENTS}
    nothing = dict.fromkeys(totals, 0)
    return AllocationTrace(totals, nothing, nothing, lines, (), (), 1, (), 0, 1, 0, 0, 0, ())


def test_lines_with_events_stand_with_their_counts_those_around_them_and_a_hint() -> None:
    trace = make_trace(
        TracedLine("list_resize", "go.py", 3, "move", 28), TracedLine("str_resize", "go.py", 9, "move", 4)
    )
    shown = list(annotate_sources(trace, {"go.py": SOURCE}.get))
    assert shown[1] == "go.py: 32 events"
    assert "List resize 28   3 |         history.append(i)" in shown
    assert (
        shown[shown.index("List resize 28   3 |         history.append(i)") + 1]
        .lstrip()
        .startswith("^ where")
    )
    assert any('"".join(parts)' in line for line in shown)
    # Lines 1 to 5 and 7 to 10, with a gap between them.
    assert [line for line in shown if line.strip() == "..."]
    assert not any(" 6 |" in line for line in shown)


def test_a_line_with_few_of_all_events_gets_no_hint() -> None:
    trace = make_trace(
        TracedLine("list_resize", "go.py", 3, "move", 3), TracedLine("list_resize", "big.py", 1, "f", 997)
    )
    shown = list(annotate_sources(trace, {"go.py": SOURCE, "big.py": ["x = f()"]}.get))
    assert not any("^" in line for line in shown)


def test_a_file_that_cannot_be_read_and_those_left_over_are_said() -> None:
    lines = [TracedLine("pool_init", f"{name}.py", 1, "f", 5 - number) for number, name in enumerate("abcd")]
    shown = list(annotate_sources(make_trace(*lines), lambda _: None))
    assert "a.py: its source cannot be read" in shown
    assert shown[-1] == "1 more files have events."
