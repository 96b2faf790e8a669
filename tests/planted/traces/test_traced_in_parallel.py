"""Nothing is lost where several count at the same time: interpreters with a lock each, and processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from running.interpreters import is_free_threaded, list_interpreters

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
GROW = """\
def grow():
    items = []
    for number in range(100):
        items.append(number)
"""
FOUR_THREADS = """\
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
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
{FOUR_THREADS}"""
REGIONS_AT_ONCE = f"""\
import ctypes, threading
tracer = ctypes.PyDLL(None)
{GROW}def work():
    for _ in range(400):
        tracer.datamill_trace_enable()
        grow()
        tracer.datamill_trace_disable()
{FOUR_THREADS}"""
#: Threads that begin others, map memory and give it back, and fork, while all count.
MEMORY_COMES_AND_GOES = f"""\
import ctypes, gc, mmap, os, threading, warnings
warnings.simplefilter("ignore")
tracer = ctypes.PyDLL(None)
{GROW}def work():
    for turn in range(60):
        tracer.datamill_trace_enable()
        grow()
        short = threading.Thread(target=grow)
        short.start()
        short.join()
        mapped = mmap.mmap(-1, 1 << 20)
        large = [bytearray(1 << 22) for _ in range(2)]
        mapped.close()
        del large
        tracer.datamill_trace_disable()
        if turn % 20 == 0:
            gc.collect()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
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


def test_threads_without_a_global_lock_lose_nothing_while_memory_comes_and_goes(tmp_path: Path) -> None:
    places = [place for place in list_interpreters().values() if is_free_threaded(place)]
    if not places:
        pytest.skip("no free-threaded interpreter here: DATAMILL_TEST_INTERPRETERS names one")
    script = tmp_path / "program.py"
    script.write_text(MEMORY_COMES_AND_GOES, encoding="utf-8")
    for place in places:
        traced = trace_allocations([place, str(script)], regions=True)
        assert traced.status == 0
        counted = sum(
            line.count
            for line in traced.trace.lines
            if line.event == "list_resize" and line.function == "grow"
        )
        assert counted == 8 * 60 * 2 * REALLOCATIONS
