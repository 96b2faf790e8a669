"""Each event is in the stack in which the program knows that it happened, however often that comes again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running.interpreters import list_interpreters

from datamill.allocators.trace import TracedStack
from datamill.conduct.tracing.trace_allocations import trace_allocations

INTERPRETERS = pytest.mark.parametrize("version", list_interpreters())
#: Each function lets one list grow; which functions called it, in turns and more often than is looked at with
#: care, is told apart by lines alone.
PROGRAM = """\
import json, sys

def grow(count):
    kept = []
    for number in range(count):
        kept.append(number)

def first(count):
    grow(count)
    grow(count + 30)

def second(count):
    first(count)
    for _ in walk(count): pass

def walk(count):
    yield grow(count)

def deep(left, count):
    return deep(left - 1, count) if left else grow(count)

def count_reallocations(count):
    kept, found = [], 0
    for number in range(count):
        size = sys.getsizeof(kept)
        kept.append(number)
        found += sys.getsizeof(kept) != size
    return found

for _ in range(400):
    first(20)
    second(50)
    deep(3, 40)
    deep(150, 10)

print(json.dumps({count: count_reallocations(count) for count in (10, 20, 40, 50, 80)}))
"""
#: Frames of a stack that are kept.
DEEPEST = 128


def describe(stack: TracedStack) -> tuple[str, ...]:
    """Functions and lines of a stack, innermost first."""
    return tuple(f"{frame.function} {frame.line}" for frame in stack.frames)


@INTERPRETERS
def test_each_stack_has_the_events_that_happened_in_it(tmp_path: Path, version: str) -> None:
    script, printed = tmp_path / "program.py", tmp_path / "printed"
    script.write_text(PROGRAM, encoding="utf-8")
    command = ["/bin/sh", "-c", f'exec "$@" >"{printed}"', "sh", list_interpreters()[version], str(script)]
    trace = trace_allocations(command, stacks=True).trace
    times = {int(count): 400 * found for count, found in json.loads(printed.read_text()).items()}
    found = {
        describe(stack): stack.count
        for stack in trace.stacks
        if stack.event == "list_resize" and stack.frames[0].function == "grow"
    }
    assert found == {
        ("grow 6", "first 9", "<module> 31"): times[20],
        ("grow 6", "first 10", "<module> 31"): times[50],
        ("grow 6", "first 9", "second 13", "<module> 32"): times[50],
        ("grow 6", "first 10", "second 13", "<module> 32"): times[80],
        ("grow 6", "walk 17", "second 14", "<module> 32"): times[50],
        ("grow 6", *["deep 20"] * 4, "<module> 33"): times[40],
        ("grow 6", *["deep 20"] * (DEEPEST - 1)): times[10],
    }
