"""A trace counts what happened in the line in which it happened, on every interpreter that is here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from running.interpreters import has_pools, is_free_threaded, list_interpreters
from running.nightly import choose_count
from traced_programs import write_program

from datamill.allocators.trace import AllocationTrace
from datamill.conduct.tracing.trace_allocations import trace_allocations

INTERPRETERS = pytest.mark.parametrize("version", list_interpreters())


def run_traced(tmp_path: Path, version: str, program: str, *arguments: str) -> tuple[AllocationTrace, str]:
    """Trace a program; return what was found and what it printed."""
    script, printed = tmp_path / "program.py", tmp_path / "printed"
    script.write_text(program, encoding="utf-8")
    command = [list_interpreters()[version], *arguments, str(script)]
    # The program has our own descriptors.
    traced = trace_allocations(["/bin/sh", "-c", f'exec "$@" >"{printed}"', "sh", *command])
    assert traced.status == 0
    return traced.trace, printed.read_text(encoding="utf-8")


def count_by_line(trace: AllocationTrace) -> dict[tuple[str, int], int]:
    return {(line.event, line.line): line.count for line in trace.lines if line.file.endswith("/program.py")}


@INTERPRETERS
@pytest.mark.parametrize("seed", range(choose_count(2, at_night=50)))
def test_every_event_is_counted_in_its_line(tmp_path: Path, version: str, seed: int) -> None:
    trace, printed = run_traced(tmp_path, version, write_program(seed, functions=32))
    expected = {(event, line): count for event, line, count in json.loads(printed)}
    assert len(expected) == 32
    assert sum(expected.values()) > 200
    found = count_by_line(trace)
    assert {place: found.get(place, 0) for place in expected} == expected


@INTERPRETERS
def test_nothing_is_counted_where_tables_are_only_made(tmp_path: Path, version: str) -> None:
    program = """\
def make():
    for i in range(3000):
        a = {"one": i, "two": i, "three": i}
        b = dict(a)
        c = {i, 2}
        d = [i, i]
        e = [None] * 100
        f = list(d)
        g = frozenset(c)
        # The next copy is made in the place of this one.
        b.copy()
make()
"""
    trace, _ = run_traced(tmp_path, version, program)
    tables = {"dict_resize", "set_resize", "list_resize"}
    assert not {place for place in count_by_line(trace) if place[0] in tables and 3 <= place[1] <= 11}


@INTERPRETERS
def test_pools_and_arenas_are_those_of_the_allocator_itself(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = "kept = [bytes(440) for _ in range(40_000)]"
    if not has_pools(list_interpreters()[version]):
        trace, _ = run_traced(tmp_path, version, work)
        assert trace.totals["pool_init"] == trace.totals["new_arena"] == 0
        assert any("pools and arenas are not counted" in sentence for sentence in trace.not_visible)
        return
    # Debug builds watch blocks for overruns, which makes them larger.
    monkeypatch.setenv("PYTHONMALLOC", "pymalloc")
    # The allocator tells nothing while it is traced: it takes ours for another one.
    asking = f"import sys\nsys._debugmallocstats()\n{work}\nsys._debugmallocstats()\n"
    told = subprocess.run(
        [list_interpreters()[version], "-c", asking], capture_output=True, text=True, check=True
    )
    statistics = told.stderr.split("Small block threshold")[1:]
    assert len(statistics) == 2

    def read(pattern: str) -> int:
        before, after = (int(re.findall(pattern, text, re.MULTILINE)[0]) for text in statistics)
        return after - before

    arenas = read(r"# arenas allocated total +=\s+(\d+)")
    # Blocks of 480 bytes, 34 in a pool.
    pools = read(r"^ +\d+ +480 +(\d+) ")
    trace, _ = run_traced(tmp_path, version, f"import sys\npass\n{work}\npass\n")
    found = count_by_line(trace)
    assert arenas > 15
    assert pools > 1100
    # Where the first pool and arena of each are not full when the line begins, one more or less is asked for.
    assert abs(found["new_arena", 3] - arenas) <= 1
    assert abs(found["pool_init", 3] - pools) <= 2


@INTERPRETERS
def test_appending_10_000_integers_reallocates_and_preallocating_does_not(
    tmp_path: Path, version: str
) -> None:
    # Listings 2.7 and 2.8 of the thesis.
    slow, _ = run_traced(tmp_path, version, "size = 10000\nl = []\nfor i in range(size):\n    l.append(i)\n")
    fast, _ = run_traced(
        tmp_path, version, "size = 10000\nl = [None]*size\nfor i in range(size):\n    l[i] = i\n"
    )
    expected = "import sys\nl, n = [], 0\nfor i in range(10000):\n    p = sys.getsizeof(l)\n    l.append(i)\n"
    expected += "    n += sys.getsizeof(l) != p\nprint(n)\n"
    told = subprocess.run(
        [list_interpreters()[version], "-c", expected], capture_output=True, text=True, check=True
    )
    assert count_by_line(slow)[("list_resize", 4)] == int(told.stdout)
    assert not {place for place in count_by_line(fast) if place[0] == "list_resize"}


@INTERPRETERS
def test_text_bytes_and_tuples_that_are_reallocated_are_counted_in_their_lines(
    tmp_path: Path, version: str
) -> None:
    program = """\
def grow():
    for i in range(100):
        ("é" * 600).encode().decode()
    for i in range(100):
        bytes(x % 256 for x in range(3000))
    for i in range(100):
        tuple(x for x in range(300))
grow()
"""
    trace, _ = run_traced(tmp_path, version, program)
    found = count_by_line(trace)
    assert found["bytes_resize", 5] >= 100
    # From 3.14 on what is decoded is made at once, and a tuple of unknown length is made of a list.
    if int(version.split(".")[1]) < 14:
        assert found["str_resize", 3] >= 100
        assert found["tuple_resize", 7] >= 100


@INTERPRETERS
@pytest.mark.parametrize("allocator", ["default", "debug", "malloc_debug", "mimalloc"])
def test_large_blocks_are_mapped_ones_only_where_the_c_library_mapped_them(
    tmp_path: Path, version: str, allocator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONMALLOC", allocator)
    asked = subprocess.run([list_interpreters()[version], "-c", ""], capture_output=True, check=False)
    if asked.returncode != 0:
        pytest.skip("this interpreter has no such allocator")
    # Giving back a mapped block has the C library take blocks up to its size from the heap.
    program = "first = bytes(1_000_000)\ndel first\nheap = [bytes(200_000) for _ in range(50)]\n"
    program += "mapped = [bytes(4_000_000) for _ in range(50)]\n"
    trace, _ = run_traced(tmp_path, version, program)
    found = count_by_line(trace)
    is_mimalloc = allocator == "mimalloc" or is_free_threaded(list_interpreters()[version])
    said = "large blocks that are mapped one by one are not counted"
    assert any(said in text for text in trace.not_visible) == is_mimalloc
    if is_mimalloc:
        assert not {place for place in found if place[0] == "memory_map" and place[1] > 2}
    else:
        assert found["memory_map", 4] == 50
        assert found.get(("memory_map", 3), 0) <= 2


@INTERPRETERS
def test_what_compiled_code_does_counts_in_its_function_and_in_no_wrong_line(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = "import sys; print(hasattr(sys, '_jit') and sys._jit.is_available())"
    command = [list_interpreters()[version], "-c", asking]
    if subprocess.run(command, capture_output=True, text=True, check=True).stdout != "True\n":
        pytest.skip("this interpreter has no compiler")
    program = """\
def work():
    kept = [None] * 30000
    total = 0.5
    for number in range(30000):
        total = total + 1.0
        kept[number] = total
        last = number
work()
"""
    found = {}
    for choice in ("0", "1"):
        monkeypatch.setenv("PYTHON_JIT", choice)
        trace, _ = run_traced(tmp_path, version, program)
        assert any("experimental compiler" in sentence for sentence in trace.not_visible) == (choice == "1")
        found[choice] = {
            line: count for (event, line), count in count_by_line(trace).items() if event == "pool_init"
        }
    # Numbers of the loop take a pool or two.
    others = [count for line, count in found["1"].items() if line not in (0, 5)]
    assert sum(others) <= 3
    assert found["1"][0] > 40
    assert abs(sum(found["1"].values()) - sum(found["0"].values())) <= 3
    assert found["0"][5] > 50


@INTERPRETERS
@pytest.mark.parametrize(
    "end",
    ["child = fork()\n    child or leave(0)\n    os.waitpid(child, 0)", "end(0)"],
    ids=["forks", "ends"],
)
def test_a_thread_outside_the_interpreter_may_fork_and_end_the_program(
    tmp_path: Path, version: str, end: str
) -> None:
    # ctypes leaves the interpreter for the call, before it is known what the list became.
    program = f"""\
import ctypes, os
library = ctypes.CDLL(None)
fork, end, leave, two = library.fork, library.exit, os._exit, (1, 2)
def grow():
    numbers = []
    numbers[0:0] = two
    {end}
print("begun", flush=True)
grow()
"""
    trace, printed = run_traced(tmp_path, version, program)
    assert printed == "begun\n"
    assert trace.totals["list_resize"] > 0


@INTERPRETERS
def test_what_is_not_counted_is_said_and_no_more(tmp_path: Path, version: str) -> None:
    place = list_interpreters()[version]
    trace, _ = run_traced(tmp_path, version, "pass\n")
    # Of the interpreter, not of the shell that starts it.
    said = " ".join(text for text in trace.not_visible if f"(Python {version.split()[0]})" in text)
    assert ("pools and arenas are not counted" in said) == (not has_pools(place))
    assert ("free-threaded build" in said) == is_free_threaded(place)
    assert "nothing is counted:" not in said
    assert "not all were recognised" not in said
    assert "lines are not told" not in said


def test_the_interpreters_of_this_machine_are_found() -> None:
    assert ".".join(map(str, sys.version_info[:3])) in list_interpreters()
