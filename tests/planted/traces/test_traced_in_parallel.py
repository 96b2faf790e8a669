"""Nothing is lost where several count at the same time: interpreters with a lock each, and processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from running.interpreters import list_interpreters

from datamill.conduct.tracing.trace_allocations import trace_allocations

#: Reallocations of a list that grows to 100 items (Objects/listobject.c).
REALLOCATIONS = 11
APPENDS = """\
def grow():
    for _ in range(400):
        items = []
        for number in range(100):
            items.append(number)
grow()
"""
INTERPRETERS_AT_ONCE = f"""\
import threading
try:
    import _interpreters as subinterpreters
except ImportError:
    import _xxsubinterpreters as subinterpreters
def work():
    number = subinterpreters.create()
    subinterpreters.run_string(number, {APPENDS!r})
    subinterpreters.destroy(number)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
REGIONS_AT_ONCE = """\
import ctypes, threading
tracer = ctypes.PyDLL(None)
def grow():
    items = []
    for number in range(100):
        items.append(number)
def work():
    for _ in range(400):
        tracer.datamill_trace_enable()
        grow()
        tracer.datamill_trace_disable()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
PROCESSES_AT_ONCE = f"""\
import os
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        break
    children.append(child)
{APPENDS}
for child in children:
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize("version", list_interpreters())
@pytest.mark.parametrize(
    "program", [INTERPRETERS_AT_ONCE, PROCESSES_AT_ONCE], ids=["interpreters", "processes"]
)
def test_all_that_count_at_the_same_time_are_counted(tmp_path: Path, version: str, program: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    traced = trace_allocations([list_interpreters()[version], str(script)])
    assert traced.status == 0
    counted = sum(
        line.count for line in traced.trace.lines if line.event == "list_resize" and line.function == "grow"
    )
    assert counted == 4 * 400 * REALLOCATIONS


@pytest.mark.parametrize("version", list_interpreters())
def test_regions_that_threads_begin_and_end_at_once_are_counted(tmp_path: Path, version: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(REGIONS_AT_ONCE, encoding="utf-8")
    traced = trace_allocations([list_interpreters()[version], str(script)], regions=True)
    assert traced.status == 0
    assert traced.trace.regions == 4 * 400
    counted = sum(
        line.count for line in traced.trace.lines if line.event == "list_resize" and line.function == "grow"
    )
    assert counted == 4 * 400 * REALLOCATIONS
